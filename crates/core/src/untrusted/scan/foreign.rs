//! The signs of an attack in other languages, as data.
//!
//! One list for each kind of sign, not one for each language: families support each
//! other whatever language they are written in. Verbs stand in the forms of an order
//! and of an infinitive; a `*` at an end means that the word may go on there.

use super::lexicon::Slot;

/// The words of the slots that are foreign alone, and what foreign adds to others.
#[rustfmt::skip]
pub(super) const WORDS: &[(Slot, &[&str])] = &[
    (Slot::ForeignMachine, &[
        "ki-assistent*", "ki-agent*", "ki-modell*", "ki-system*", "sprachmodell*", "automatische agenten",
        "automatischen agenten", "assistant ia", "assistants ia", "assistant d'ia", "agent ia", "agents ia",
        "modèle de langage", "agents automatisés", "assistant automatisé", "asistente de ia", "asistente ia", "agente de ia", "agentes de ia",
        "modelo de lenguaje", "asistente virtual", "agentes automáticos", "assistente ai", "assistente ia",
        "assistente de ia", "assistente virtuale", "assistente virtual", "modello linguistico", "modelo de linguagem",
        "ai-assistent*", "ai-agenten", "ai-modell*", "taalmodel", "asystent ai", "asystenta ai", "asystentów ai", "agenta ai",
        "model językowy", "yapay zeka asistan*", "yapay zekâ asistan*", "dil modeli", "asistenta ai",
        "asistent ai", "asistente ai", "jazykový model", "trợ lý ai", "asisten ai", "model bahasa",
        "ии-ассистент*", "ии-агент*", "ии-помощник*", "ии-модел*", "ассистент ии", "языковая модель", "языковой модели",
        "ші-асистент*", "ші-агент*", "мовна модель", "βοηθό τν", "βοηθός τν", "βοηθό ai", "γλωσσικό μοντέλο",
        "*ai助手*", "*ai助理*", "*ai代理*", "*ai智能体*", "*ai模型*", "人工智能助手", "人工智慧助理", "智能助手", "语言模型", "語言模型",
        "*aiアシスタント*", "*aiエージェント*", "*aiモデル*", "言語モデル", "*ai어시스턴트*", "*ai비서*", "*ai에이전트*", "*ai모델*",
        "언어모델", "مساعد الذكاء", "وكيل الذكاء", "نموذج اللغة", "עוזר הבינה", "לעוזר הבינה", "מודל שפה", "एआई सहायक",
        "एआई एजेंट", "ผู้ช่วยai", "دستیار هوش",
    ]),
    (Slot::ForeignUser, &[
        "dem nutzer", "den nutzer", "der nutzer", "dem benutzer", "den benutzer", "der benutzer", "dem anwender",
        "den anwender", "l'utilisateur", "à l'utilisateur", "al usuario", "el usuario", "del usuario", "all'utente",
        "l'utente", "dell'utente", "ao usuário", "o usuário", "ao utilizador", "o utilizador", "de gebruiker",
        "użytkownikowi", "użytkownika", "użytkownik", "användaren", "brugeren", "brukeren", "kullanıcıya", "kullanıcıyı", "kullanıcının",
        "uživateli", "uživatele", "người dùng", "pengguna", "felhasználónak", "utilizatorului",
        "пользователю", "пользователя", "пользователь", "користувачу", "користувачеві", "користувача", "στον χρήστη", "τον χρήστη", "ο χρήστης",
        "用户", "用戶", "使用者", "ユーザー", "ユーザ", "利用者", "사용자에게", "사용자가", "사용자는", "المستخدم", "למשתמש", "המשתמש",
        "उपयोगकर्ता", "ผู้ใช้", "کاربر",
    ]),
    (Slot::ForeignHush, &[
        "nicht informieren", "nicht erwähnen", "nicht verraten", "nicht mitteilen", "nicht sagen", "nichts sagen", "sag nichts",
        "sage nichts", "erwähne es", "erwähne dies", "erwähne das", "verrate es nicht", "nichts davon", "ohne rückfrage", "ohne rücksprache", "ohne wissen",
        "sans en informer", "sans informer", "sans prévenir", "sans le dire", "ne dites rien", "ne dis rien", "ne pas informer", "n'informez pas",
        "ne le dites pas", "ne le dis pas", "ne pas le dire", "ne pas mentionner", "n'en parlez pas", "à l'insu de",
        "no se lo digas", "no se lo diga", "no le digas", "no le diga", "sin informar", "sin avisar", "sin decir*", "no informes", "no informe", "no menciones", "no lo menciones",
        "non dirlo", "non dire", "non informare", "senza informare", "senza avvisare", "senza dirlo", "non menzionare",
        "não conte", "não diga", "não informe", "sem informar", "sem avisar", "não mencione",
        "vertel het", "vertel dit niet", "informeer niet", "zonder het", "niet aan de", "nie mów", "nie informuj", "nie wspominaj", "bez informowania",
        "bez wiedzy", "berätta inte", "nämn inte", "utan att", "fortæl ikke", "ikke fortell", "söyleme", "söylemeden",
        "bildirme", "bilgi verme", "haber verme", "neříkej", "neinformuj", "nezmiňuj", "đừng nói", "không nói", "không thông báo",
        "jangan beri tahu", "jangan katakan", "tanpa memberi tahu", "не сообщай", "не сообщайте", "не говори", "не говорите", "не упоминай",
        "не рассказывай", "не уведомляй", "не информируй", "без ведома", "не повідомляй", "не кажи", "не повідомляйте", "μην το πεις",
        "μην πεις", "μην ενημερώσεις", "不要告诉", "不要告訴", "不要通知", "不要告知", "别告诉", "別告訴", "不得告知", "不要提及", "不要向", "无需告知", "知らせない", "言わない",
        "伝えない", "教えない", "通知しない", "알리지마", "알리지않", "말하지마", "말하지않", "لاتخبر", "لاتبلغ", "دونإخبار", "دونعلم", "אלתספר", "אלתודיע",
        "אלתגיד", "नबताएं", "मतबताएं", "नहींबताएं", "อย่าบอก", "نگو",
    ]),
    (Slot::BeforeReply, &[
        "bevor du antwortest", "bevor sie antworten", "bevor du fortfährst", "bevor sie fortfahren", "bevor du weitermachst", "vor der antwort",
        "avant de répondre", "avant de continuer", "avant de poursuivre", "avant toute réponse", "antes de responder", "antes de continuar",
        "antes de contestar", "prima di rispondere", "prima di continuare", "prima di procedere", "voordat je antwoordt", "voordat u antwoordt", "voordat je verdergaat",
        "zanim odpowiesz", "przed udzieleniem odpowiedzi", "innan du svarar", "innan du fortsätter", "før du svarer", "yanıt vermeden önce", "yanıtlamadan önce",
        "cevap vermeden önce", "devam etmeden önce", "než odpovíš", "než odpovíte", "trước khi trả lời", "trước khi tiếp tục", "sebelum menjawab", "sebelum melanjutkan",
        "прежде чем отвечать", "прежде чем ответить", "перед ответом", "прежде чем продолжить", "перш ніж відповідати", "перш ніж відповісти", "πριν απαντήσεις", "πριν συνεχίσεις",
        "回答之前", "回答前请", "回复之前", "回复前", "答复之前", "回覆之前", "回覆前", "继续之前", "回答する前", "返信する前", "返答する前", "続行する前", "답변하기전", "대답하기전", "응답하기전",
        "قبلالرد", "قبلالإجابة", "قبلأنتجيب", "לפנישאתהעונה", "לפנישתענה", "उत्तरदेनेसेपहले", "जवाबदेनेसेपहले", "ก่อนตอบ",
    ]),
    (Slot::ForeignSecret, &[
        "passwort", "passwörter", "kennwort", "zugangsdaten", "anmeldedaten", "api-schlüssel", "geheimschlüssel", "mot de passe", "mots de passe", "clé api",
        "clé d'api", "clé secrète", "identifiants", "la clé", "contraseña", "contraseñas", "clave de api", "clave api", "clave secreta", "credenciales", "la password", "le credenziali",
        "chiave api", "chiave segreta", "senha", "senhas", "chave de api", "chave secreta", "credenciais", "wachtwoord", "wachtwoorden", "api-sleutel", "inloggegevens",
        "hasło", "hasła", "klucz api", "dane logowania", "lösenord*", "api-nyckel*", "adgangskoden", "passordet", "parolayı", "şifreyi", "api anahtar*", "heslo", "hesla", "klíč api",
        "mật khẩu", "khóa api", "kata sandi", "kunci api", "пароль", "пароли", "ключ api", "api-ключ", "секретный ключ", "учётные данные", "учетные данные", "κωδικό", "κλειδί api",
        "密钥", "金鑰", "密码", "密碼", "凭据", "凭证", "apiキー", "パスワード", "秘密鍵", "비밀번호", "*api키*", "암호를", "كلمةالمرور", "كلمةالسر", "مفتاحapi", "הסיסמה", "הסיסמא", "מפתח api",
        "पासवर्ड", "รหัสผ่าน", "رمزعبور",
    ]),
    (Slot::ForeignSend, &[
        "sende", "senden sie", "schicke", "schick", "schicken sie", "leite", "weiterleiten", "übermittle", "übermitteln sie", "envoyez", "envoie", "transmettez", "transmets", "transférez",
        "envía", "envíe", "envíen", "enviar", "envia", "envie", "encaminhe", "manda", "mande", "reenvía", "invia", "inviare", "inviate", "inoltra", "stuur", "verstuur", "wyślij", "prześlij", "skicka",
        "vidarebefordra", "send adgangskoden", "gönder", "gönderin", "ilet", "pošli", "pošlete", "odešli", "gửi", "kirim", "kirimkan", "отправь", "отправьте", "перешли", "перешлите", "пришли",
        "вышли", "надішли", "надішліть", "відправ", "στείλε", "στείλτε", "προώθησε", "发送", "發送", "发给", "发到", "寄到", "寄給", "转发", "上传到", "送信", "送って", "転送", "보내", "전송", "أرسل", "ارسل", "إرسال",
        "שלח", "שלחו", "העבר", "भेजें", "भेजो", "ส่ง", "بفرست",
    ]),
    (Slot::ForeignIgnore, &[
        "vergesst", "vergesse", "ignoriert", "beachte nicht", "ne tenez plus compte", "ne tiens pas compte", "ne tiens plus compte", "fais abstraction", "faites abstraction", "no hagas caso",
        "no tengas en cuenta", "haga caso omiso", "non tenere conto", "dimenticate", "ignorate", "esquece", "não leve em conta", "ignoruj", "zapomeň", "bỏ qua", "hãy quên",
        "забудьте обо", "не учитывай", "αγνόησε", "ξέχασε", "请无视", "请忘记", "忘れて", "従わない", "무시하", "잊으", "لاتتبع", "שכח", "भूलजाओ", "نادیدهبگیر",
    ]),
    (Slot::ForeignEarlier, &[
        "vorherige", "vorherigen", "vorigen", "bisherigen", "bisherige", "früheren", "frühere", "obigen", "deine", "deinen", "ihre", "alle", "aller", "précédentes", "précédents", "précédente",
        "antérieures", "ci-dessus", "toutes", "tes", "vos", "anteriores", "anterior", "previas", "previos", "tus", "todas las", "todas", "precedenti", "le tue", "tutte", "prévias", "suas",
        "eerdere", "vorige", "bovenstaande", "poprzednie", "poprzednich", "wcześniejsze", "wszystkie", "swoje", "tidigare", "föregående", "alla", "tidligere", "önceki", "yukarıdaki", "tüm", "bütün", "předchozí",
        "všechny", "trước", "trước đó", "sebelumnya", "semua", "предыдущие", "предыдущих", "прежние", "прошлые", "все", "всех", "твои", "свои", "попередні", "усі", "всі", "προηγούμενες", "όλες",
        "之前", "先前", "以前", "以上", "上述", "上面", "前面", "此前", "所有", "一切", "你的", "これまで", "今まで", "上記", "前の", "すべて", "全て", "以前の", "이전", "위의", "모든", "앞의", "지금까지",
        "السابقة", "جميع", "كل التعليمات", "أعلاه", "הקודמות", "כל ההוראות", "पिछले", "पिछली", "सभी", "قبلی",
    ]),
    (Slot::ForeignOrders, &[
        "vorgaben", "regeln", "ordres", "règles", "reglas", "regole", "regras", "pokyny", "instrukce", "hướng dẫn", "chỉ dẫn", "правила", "инструкциями", "οδηγίες", "说明", "規則", "规则", "ルール", "ההוראות", "निर्देशों", "دستورالعمل",
    ]),
    (Slot::ForeignAbove, &[
        "alles, was dir bisher", "alles was dir bisher", "alles, was dir vorher", "alles bisher gesagte", "alles bisherige", "alles vorherige", "alles obige", "ce qui précède", "tout ce qui a été dit",
        "todo lo anterior", "todo lo dicho", "tutto ciò che precede", "tutto quanto sopra", "tudo acima", "tudo o que foi dito", "alles hierboven", "wszystko powyżej", "allt ovan",
        "yukarıdaki her şeyi", "önceki her şeyi", "всё, что тебе", "все, что тебе", "всё вышесказанное", "все вышесказанное", "всё сказанное выше", "以上所有内容", "以上全部内容", "以上内容", "之前的内容", "前面的内容", "上面的内容", "之前所说",
        "上記の内容", "これまでの内容", "上記のすべて", "이전의 모든 내용", "위의 내용", "كل ما سبق", "כל מה שנאמר",
    ]),
];
