//! Words that carry grammar or courtesy instead of a subject, by language.
//!
//! All lists are in folded spelling (no accents, lower case). They are general:
//! nothing in them was chosen for a particular text.

/// English words without content.
pub(super) const ENGLISH: &str = "a about above after again against all also am an and any are aren as at be became \
because become been before being below between both but by came can cannot come could couldn did didn do does doesn \
doing don done down during each either else ever every few for from further get gets getting give given go goes going \
gone got had hadn has hasn have haven having he her here hers herself him himself his how however i if in into is isn \
it its itself just ll let many may me might mine more most much must my myself near need needs neither no nor not now \
of off often on once one only onto or other others ought our ours ourselves out over own per perhaps please quite \
rather re really same shall she should shouldn since so some still such take taken than that the their theirs them \
themselves then there these they thing things this those though through thus to together too toward towards two under \
until up upon us ve very via was wasn way we well were weren what whatever when whenever where whether which while who \
whom whose why will with within without won would wouldn yes yet you your yours yourself yourselves";

/// German words without content.
pub(super) const GERMAN: &str = "aber ab alle allem allen aller alles als also am an andere anderem anderen anderer \
anderes anders auch auf aus bei beide beiden beim bereits bin bis bist bitte da dabei dadurch dafur dagegen daher damit \
danach dann daran darauf daraus darin darum das dass dasselbe davon davor dazu dein deine deinem deinen deiner dem den \
denen denn der deren des deshalb dessen dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine \
einem einen einer eines einmal er es etwa etwas euch euer eure falls fur ganz gar geben gegen gibt hab habe haben hat \
hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im immer in indem ins ist ja jede jedem jeden \
jeder jedes jedoch jetzt kann kannst kein keine keinem keinen keiner konnen konnte mal man mehr mein meine meinem \
meinen meiner mich mir mit muss mussen nach nein nicht nichts noch nun nur ob oder ohne schon sehr sei sein seine \
seinem seinen seiner seit selbst sich sie sind so sobald solange soll sollen sollte sondern sonst soweit sowie statt \
trotz uber um und uns unser unsere unserem unseren unserer unter viel viele vom von vor wahrend wann war waren warum \
was wegen weil weiter welche welchem welchen welcher welches wenn wer werde werden wie wieder will wir wird wo woran \
wurde wurden zu zum zur zwar zwischen";

/// French words without content.
pub(super) const FRENCH: &str = "a afin ai ailleurs ainsi alors apres as au aucun aucune aupres aussi autant autre \
autres aux avant avec avez avoir avons bien c ca car ce ceci cela celle celles celui cependant ces cet cette ceux chaque \
chez ci comme comment d dans de deja depuis des dessous dessus deux doit donc dont du durant elle elles en encore entre \
es est et etaient etait etant ete etes etre eu eux faire fait faut font hors ici il ils j jamais je jusqu jusque l la \
laquelle le lequel les lesquels leur leurs lors lorsque lui m ma mais malgre me meme memes mes mien moi moins mon n ne \
ni non nos notre nous on ont ou par parce parfois parmi pas pendant peu peut peux plus plusieurs plutot pour pourquoi \
pouvez pouvoir pres puis puisque qu quand que quel quelle quelles quels quelque quelques qui quoi quoique rien s sa sans \
se selon sera seront ses si sien sinon soi soit sommes son sont sous suis sur t ta tandis tant te tes toi ton toujours \
tous tout toute toutes tres trop tu un une va vers voici voila vos votre vous y";

/// Spanish words without content.
pub(super) const SPANISH: &str = "a acerca ademas ahora al algo algun alguna algunas alguno algunos alla alli ambos ante \
antes aquel aquella aquellos aqui asi aun aunque bajo bien cada casi como con contra cual cuales cualquier cuando cuanto \
cuantos de debe debo del demas dentro desde despues donde dos durante e el ella ellas ellos en entonces entre era eran \
eres es esa esas ese eso esos esta estaba estan estar estas este esto estos estoy fue fuera fueron ha haber habia hace \
hacen hacer hacia han has hasta hay he hemos la las le les lo los luego mas me mi mientras mio mis misma mismas mismo \
mismos mucho muchos muy nada nadie ni ningun ninguna ninguno no nos nosotros nuestra nuestras nuestro nuestros nunca o \
os otra otras otro otros para pero poco por porque pueda puede pueden puedes pues que quien quienes se sea segun ser si \
sido siempre sin sino sobre solo son soy su sus suya suyo tal tambien tampoco tan tanto te tener tengo ti tiene tienen \
toda todas todavia todo todos tras tu tus un una unas uno unos usted ustedes va vamos van ya yo y";

/// Words of any subject: they tie an answer to a task only weakly. English.
pub(super) const ENGLISH_WEAK: &str = "able add allow always amount anything ask available back bad base best better big \
bit bring call case change check clear common consider contain create day detail different easy end ensure every everybody \
everyone everything example fact far feel fine first follow good great happen hard help high hold idea important include \
instead keep kind know large last late leave less like likely line list little long look lot low main make matter mean \
might mind moment month move name never new next nice nobody nothing number offer often old open order part people place \
point possible problem provide put question quick reach ready real reason result right run say second see seem set several \
short show simple small something sometimes soon sort start state stay step still stop sure take talk tell think time today \
together tomorrow top try turn type understand use useful user usual value want week whole wonderful work world wrong year";

/// Words of any subject. German.
pub(super) const GERMAN_WEAK: &str = "allein anbieten anfang arbeit beginnen beispiel bekommen besser beste bleiben brauchen \
bringen daten denken eigen einfach erst erhalten ersten finden folgen fragen fruh ganze gehen gemeinsam genau genug gern gleich \
gross gut halten heute hoch jahr jahre jederzeit kommen kurz lang lange lassen leicht letzte liegen machen mensch minute \
moglich monat morgen mussen nachst name nehmen neu neue nutzen oft person punkt richtig sagen schnell schreiben sehen seite setzen \
sollten stehen stelle stellen stunde suchen tag tage teil thema tun uhr unterschied verwenden voll vorhanden weise weitere wenig \
wichtig wissen woche wort zahl zeigen zeit ziel zusammen zuruck zwei drei";

/// Words of any subject. French.
pub(super) const FRENCH_WEAK: &str = "aller annee apporter arriver avoir beau beaucoup besoin bon bonne cas certain chose \
commencer connaitre demander dernier devenir devoir differen dire dire donner ecrire ensemble etat exemple facile facon faire \
falloir finir garder grand gros haut heure homme important jour laisser lieu long longue lundi maintenant manier mettre mieux \
minute mois moment monde mot nombre nouveau nouvel nouvelle ouvrir partie partir passer personne petit place point possible \
pouvoir premier prendre prix probleme propre question raison rendre rester savoir semaine seul simple suivre temps tenir \
travail trouver trois type utiliser venir vie voir vouloir vrai";

/// Words of any subject. Spanish.
pub(super) const SPANISH_WEAK: &str = "ano abrir alto ayudar bajo bien bueno buena buscar cambio caso cerca cierto claro \
comenzar conocer cosa creer cuenta dar deber decir dejar dia dias diferente dinero ejemplo empezar encontrar entrar entender \
escribir estado facil falta forma gran grande gracias hablar hacer hora hoy igual importante ir lado largo lista llegar llevar \
lugar manana manera mayor mejor menor mes meses mismo momento mostrar mundo necesitar nombre nuevo nueva numero ofrecer parte \
pasar pedir pensar pequeno persona poder poner posible pregunta primero problema punto quedar querer saber salir seguir semana \
simple tema tiempo tipo tomar trabajo tratar tres ultimo usar utilizar valor ver vez veces vida";

/// Chinese and Japanese characters that carry grammar, numbers or nothing of a subject.
pub(super) const HAN: &str = "的一是不了在有和就都而及与着或我你您他她它们这那个為为以可要请把被从到对将再还也很更最已其之\
于由因所此每些么什怎哪谁吧呢吗啊给让并且但如若则又二三四五六七八九十百千万两只没来去过得";

/// Two-character words of any subject, Japanese and Chinese.
pub(super) const HAN_WEAK: &str = "場合 必要 確認 可能 以下 方法 教え 使用 利用 問題 今回 現在 時間 最後 最初 情報 対応 自分 場所 \
内容 今日 明日 昨日 問い 感謝 皆様 一日 人気 需要 可以 没有 我们 你们 他们 问题 进行 如果 因为 所以 但是 已经 现在 时候 通过 \
使用 方法 情况 可能 以及 或者 非常 感谢 其他 开始 主要 一个 一些 今天 明天 昨天 时间 最后 我的 您的 联系 大约";

/// Phrases that leave the subject, folded; a sentence that opens with one gets
/// no credit from the sentence before.
pub(super) const TURNS: [&str; 62] = [
    "also ",
    "i also",
    "by the way",
    "speaking of",
    "in addition",
    "additionally",
    "furthermore",
    "beyond that",
    "while i was",
    "on another note",
    "on a different note",
    "let me now",
    "now about",
    "more interesting",
    "incidentally",
    "moreover",
    "besides",
    "i noticed",
    "i took the liberty",
    "as a bonus",
    "ausserdem",
    "ubrigens",
    "zusatzlich",
    "daruber hinaus",
    "nebenbei",
    "ganz anderes",
    "anderes thema",
    "apropos",
    "bei der gelegenheit",
    "weiterhin habe ich",
    "au fait",
    "par ailleurs",
    "j'en ai profite",
    "en outre",
    "d'ailleurs",
    "parlons",
    "a propos",
    "au passage",
    "de plus",
    "changeons de sujet",
    "por cierto",
    "ademas",
    "de paso",
    "cambiando de tema",
    "por otro lado",
    "aprovech",
    "asimismo",
    "hablando de",
    "ついでに",
    "ところで",
    "話は変わり",
    "さらに",
    "ちなみに",
    "余談",
    "それはさておき",
    "顺便",
    "对了",
    "换个话题",
    "说到",
    "此外",
    "另外",
    "另一方面",
];
