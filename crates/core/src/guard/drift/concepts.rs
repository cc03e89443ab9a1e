//! A small table of ideas that have several names.
//!
//! One row is one idea: its usual words in English, German, French, Spanish,
//! and Chinese or Japanese. It lets "sign-in" answer "login" and "Datenbank"
//! answer "database". It holds everyday words of work with software and
//! customers and is not fitted to any text; what it lacks is compared as it is
//! written.

use std::sync::LazyLock;

use super::language::Language;
use super::{hash, stem};

/// A row of the table.
pub(super) type Concept = u16;

/// The idea a stem (given by its hash) names; the first row that lists it.
pub(super) fn of_hash(stem: u64) -> Option<Concept> {
    let at = BY_STEM.binary_search_by_key(&stem, |(hash, _)| *hash).ok()?;
    BY_STEM.get(at).map(|(_, concept)| *concept)
}

static BY_STEM: LazyLock<Vec<(u64, Concept)>> = LazyLock::new(|| {
    const COLUMNS: [Language; 5] =
        [Language::English, Language::German, Language::French, Language::Spanish, Language::Chinese];
    let mut found = Vec::new();
    for (row, words) in ROWS.iter().enumerate() {
        let concept = Concept::try_from(row).unwrap_or(Concept::MAX);
        for (column, language) in words.iter().zip(COLUMNS) {
            let stems = column.split_whitespace().map(|word| match language {
                Language::Japanese | Language::Chinese | Language::Other => word.to_owned(),
                Language::English | Language::German | Language::French | Language::Spanish => {
                    stem::stem(word.to_owned(), language)
                }
            });
            found.extend(stems.map(|stem| (hash::of(&stem), concept)));
        }
    }
    found.sort_unstable();
    found.dedup_by_key(|(hash, _)| *hash);
    found
});

#[rustfmt::skip]
const ROWS: &[[&str; 5]] = &[
    ["error exception failure fault bug defect", "fehler ausnahme storung panne", "erreur exception panne defaut anomalie", "error excepcion fallo averia", "错误 異常 エラー 例外 异常 故障 障害 バグ"],
    ["fail crash abort break broken", "fehlschlagen scheitern abbrechen absturzen", "echouer planter interrompre", "fallar romper abortar", "失败 失敗 崩溃 中断"],
    ["fix repair correct solve resolve mend patch", "beheben reparieren korrigieren losen berichtigen", "corriger reparer resoudre", "arreglar corregir reparar resolver solucionar", "修复 修正 修理 解决 解決 改好"],
    ["cause reason why because due", "ursache grund weil wegen warum woran", "cause raison pourquoi motif", "causa motivo razon porque", "原因 理由 因为 为什"],
    ["delete remove drop erase purge clean", "loschen entfernen bereinigen", "supprimer effacer retirer enlever", "borrar eliminar quitar suprimir", "删除 削除 除去 清除 取り"],
    ["add insert append introduce", "hinzufugen erganzen einfugen", "ajouter inserer", "anadir agregar insertar", "添加 追加 增加 补充"],
    ["change modify edit update alter adjust", "andern anpassen bearbeiten aktualisieren", "modifier changer ajuster actualiser", "cambiar modificar actualizar ajustar", "修改 変更 更新 更改 变更"],
    ["create make build generate produce", "erstellen erzeugen anlegen bauen", "creer construire generer produire", "crear construir generar", "创建 作成 生成 构建"],
    ["login signin sign log authenticate authentication", "anmelden anmeldung einloggen login", "connexion connecter authentification", "iniciar sesion autenticacion acceso", "登录 ログイン 登陆 认证 認証"],
    ["password passcode credential", "passwort kennwort", "passe mdp", "contrasena clave", "密码 パスワード 口令"],
    ["page screen view site website web", "seite webseite ansicht", "page ecran site", "pagina pantalla sitio web", "页面 画面 ページ 网站 ウェブ"],
    ["fast quick speed performance faster slow latency", "schnell langsam geschwindigkeit ladezeit", "rapide lent vitesse lenteur", "rapido lento velocidad lentitud tardar", "速度 遅い 性能 応答 响应"],
    ["file document", "datei dokument", "fichier document", "archivo fichero documento", "文件 ファイル 文档 書類"],
    ["folder directory path", "ordner verzeichnis pfad", "dossier repertoire chemin", "carpeta directorio ruta", "目录 フォルダ 路径"],
    ["database db sql postgres postgresql sqlite mysql table", "datenbank tabelle", "base bdd table", "base tabla", "数据 データベース 表"],
    ["server host machine node", "server rechner maschine", "serveur machine", "servidor maquina", "服务 サーバー サーバ 服务器"],
    ["network connection", "netz netzwerk verbindung", "reseau connexion", "red conexion", "网络 ネットワーク 接続 连接"],
    ["disk storage space volume capacity", "festplatte speicher speicherplatz platte", "disque stockage espace place", "disco almacenamiento espacio", "磁盘 空间 容量 ディスク"],
    ["memory ram", "arbeitsspeicher", "memoire", "memoria", "内存 メモリ"],
    ["backup snapshot copy", "sicherung backup datensicherung schnappschuss", "sauvegarde instantane copie", "copia respaldo instantanea", "备份 バックアップ スナップショット 快照"],
    ["restore recover undo revert rollback", "wiederherstellen zurucksetzen ruckgangig", "restaurer annuler retablir", "restaurar recuperar deshacer revertir", "恢复 復元 撤销 取消 回滚 復旧"],
    ["night nightly overnight", "nacht nachtlich", "nuit nocturne", "noche nocturno", "夜间 夜間 昨夜 昨晚"],
    ["money payment pay paid charge fee cost price amount", "geld zahlung zahlen bezahlen kosten preis betrag gebuhr", "argent paiement payer cout prix montant frais somme debiter prelevement", "dinero pago pagar coste costo precio importe cargo cobrar", "付款 支付 金额 金額 料金 費用 费用 扣款 款项 代金"],
    ["refund reimburse", "erstatten erstattung ruckzahlung", "rembourser remboursement", "devolver reembolso devolucion", "退款 返金 退回"],
    ["invoice bill billing receipt", "rechnung quittung abrechnung", "facture facturation recu", "factura facturacion recibo", "发票 請求 请求 账单"],
    ["customer client buyer consumer", "kunde kundin kaufer", "client acheteur", "cliente comprador consumidor", "客户 顧客 お客 顾客"],
    ["user account member profile", "benutzer nutzer konto kundenkonto mitglied", "utilisateur compte membre", "usuario cuenta miembro", "用户 ユーザー 会员 会員 账户 账号"],
    ["order purchase buy", "bestellung bestellen kauf kaufen", "commande commander achat acheter", "pedido comprar compra pedir", "订单 注文 購入 购买 下单"],
    ["parcel package shipment delivery deliver ship", "paket lieferung sendung liefern zustellung", "colis livraison livrer", "paquete envio entrega entregar", "包裹 配送 送达 荷物 快递"],
    ["subscription plan contract membership", "abo abonnement vertrag tarif", "abonnement contrat forfait", "suscripcion contrato abono", "订阅 購読 契約 合同"],
    ["cancel terminate end quit", "kundigen kundigung stornieren beenden", "resilier annuler", "cancelar anular rescindir", "取消 解約 终止"],
    ["company firm business organisation organization society", "firma unternehmen betrieb gesellschaft", "entreprise societe", "empresa compania sociedad", "公司 会社 企业 企業"],
    ["employee staff worker team colleague", "mitarbeiter angestellte team kollege", "salarie employe equipe collegue", "empleado equipo trabajador companero", "员工 社員 従業員 团队"],
    ["email mail message", "mail nachricht", "courriel mail message", "correo mensaje", "邮件 メール 邮箱"],
    ["phone mobile smartphone", "telefon handy", "telephone portable mobile", "telefono movil", "手机 電話 电话 携帯"],
    ["app application program software", "anwendung programm", "application logiciel appli", "aplicacion programa", "应用 アプリ アプリケーション 软件 程序"],
    ["test spec check verify validate", "prufen uberprufen testen", "verifier tester essai", "probar comprobar verificar prueba", "测试 テスト 試験 验证 検証"],
    ["function method routine procedure", "funktion methode", "fonction methode", "funcion metodo", "函数 関数"],
    ["variable field attribute property column", "feld spalte attribut", "champ colonne attribut", "campo columna atributo", "字段 列"],
    ["class struct type object", "klasse objekt typ", "classe objet", "clase objeto tipo", "对象 型"],
    ["list array collection", "liste aufstellung", "liste tableau", "lista listado", "列表 一覧 リスト 清单"],
    ["duplicate double twice duplication", "doppelt zweimal duplikat", "double doublon deux", "duplicado doble dos", "重复 重複 二重 两次 两笔"],
    ["search find lookup locate query", "suche suchen finden abfrage", "recherche chercher requete trouver", "busqueda buscar consulta encontrar averiguar", "搜索 検索 查询 クエリ 查找 找出"],
    ["summary summarise summarize overview", "zusammenfassung zusammenfassen", "resume resumer synthese", "resumen resumir", "总结 要約 摘要"],
    ["report", "bericht", "rapport", "informe", "报告 報告"],
    ["compare difference versus better", "vergleichen vergleich unterschied", "comparer comparaison difference", "comparar comparacion diferencia convenir", "比较 比較"],
    ["advantage benefit pro", "vorteil nutzen", "avantage", "ventaja beneficio", "优点 利点"],
    ["disadvantage drawback con", "nachteil", "inconvenient", "desventaja inconveniente", "缺点 欠点"],
    ["deploy deployment release rollout publish ship production", "ausrollen einspielen einsetzen veroffentlichen produktion", "deployer deploiement production livrer", "desplegar despliegue produccion lanzar", "部署 配備 发布 本番 生产"],
    ["version release", "version ausgabe", "version", "version", "版本 バージョン"],
    ["commit push merge branch git", "commit zweig", "commit branche", "commit rama", "提交 コミット 分支"],
    ["security secure vulnerability attack", "sicherheit sicher lucke", "securite faille", "seguridad vulnerabilidad", "安全 セキュリティ 漏洞"],
    ["permission access right allow", "berechtigung zugriff recht erlauben", "droit acces permission autoriser", "permiso acceso permitir", "权限 許可 访问 权利"],
    ["approve approval consent confirm", "genehmigen freigabe bestatigen zustimmung", "valider approbation validation confirmer", "aprobar aprobacion confirmar", "审批 承認 批准 确认"],
    ["key token secret", "schlussel", "cle jeton", "clave token", "密钥 鍵 令牌"],
    ["log logging trace protocol", "protokoll", "journal trace log", "registro traza log", "日志 ログ"],
    ["monitor alert warn warning", "uberwachung warnen alarm", "surveillance alerte avertir", "vigilancia alerta aviso", "监控 監視 警告"],
    ["start launch begin restart run", "starten beginnen lauf", "demarrer lancer commencer execution", "iniciar arrancar ejecutar", "启动 起動 実行 执行 开始"],
    ["stop halt shut close", "anhalten schliessen stoppen", "arreter fermer", "parar detener cerrar", "停止 关闭 閉じ"],
    ["install setup configure configuration setting", "installieren einrichten konfigurieren einstellung", "installer configurer reglage parametre", "instalar configurar ajustes", "安装 設定 设置 配置"],
    ["image photo picture logo", "bild foto logo", "image photo logo", "imagen foto logotipo", "图片 画像 照片"],
    ["text string word sentence", "text wort satz zeichenkette", "texte chaine mot phrase", "texto cadena palabra frase", "文字 文本 文字列 字符"],
    ["typo misspelling spelling", "tippfehler rechtschreibfehler", "coquille faute orthographe", "errata ortografia", "错别 誤字"],
    ["title heading header", "titel uberschrift", "titre", "titulo", "标题 見出"],
    ["footer bottom", "fusszeile", "pied", "pie", "页脚 フッター"],
    ["button click press tap", "knopf schaltflache klicken", "bouton cliquer", "boton pulsar clic", "按钮 ボタン 点击"],
    ["colour color green red blue", "farbe grun rot blau", "couleur vert rouge bleu", "color verde rojo azul", "颜色 色"],
    ["date day time timestamp", "datum zeitpunkt", "date", "fecha", "日期 日付"],
    ["week weekly month monthly quarter quarterly year annual", "woche monat quartal jahr", "semaine mois trimestre annee", "semana mes trimestre ano", "季度 四半期 月份"],
    ["name person people who", "name person nachname", "nom prenom personne", "nombre apellido persona", "姓名 氏名 名前"],
    ["number count amount quantity many", "anzahl menge zahl", "nombre quantite combien", "numero cantidad cuanto", "数量 件数 多少"],
    ["extract collect gather pull", "auslesen herausziehen", "extraire relever", "extraer sacar", "提取 抜き 抽出"],
    ["translate translation language locale", "ubersetzen ubersetzung sprache", "traduire traduction langue", "traducir traduccion idioma", "翻译 翻訳 语言 言語"],
    ["write draft compose", "schreiben verfassen", "ecrire rediger", "escribir redactar", "编写 書い"],
    ["explain describe mean", "erklaren beschreiben", "expliquer decrire", "explicar describir", "解释 説明"],
    ["question ask", "frage fragen", "question demande", "pregunta", "问题 質問"],
    ["reply answer respond response", "antwort antworten reagieren", "reponse repondre", "respuesta responder", "回复 返信 回答"],
    ["complain complaint dissatisfied", "beschwerde beschweren reklamation", "plainte reprocher reclamation", "queja quejar reclamacion", "投诉 苦情"],
    ["letter note", "brief schreiben", "lettre courrier", "carta", "信件 手紙"],
    ["security firewall rule block", "firewall regel blockieren", "pare-feu regle bloquer", "cortafuegos regla bloquear", "防火 规则 規則 拦截"],
    ["port endpoint address url link", "port adresse anschluss", "port adresse", "puerto direccion", "端口 ポート 地址 接口"],
    ["certificate tls ssl", "zertifikat", "certificat", "certificado", "证书 証明"],
    ["renew rotate refresh extend", "erneuern verlangern", "renouveler prolonger", "renovar prorrogar", "更换 更新"],
    ["expire expiry expired deadline", "ablaufen ablauf frist", "expirer expiration delai", "caducar vencer plazo", "过期 期限"],
    ["queue wait waiting pending", "warteschlange warten", "file attente attendre", "cola espera esperar", "队列 待ち 等待"],
    ["send sent transmit", "senden schicken versenden verschicken versand", "envoyer envoi", "enviar mandar", "发送 送信"],
    ["receive get obtain", "erhalten bekommen empfangen", "recevoir obtenir", "recibir obtener", "收到 受信"],
    ["export import migrate migration move transfer", "exportieren ausfuhr migration umziehen", "exporter migration migrer", "exportar migrar migracion", "导出 出力 迁移 移行"],
    ["print printer", "drucken drucker", "imprimer imprimante", "imprimir impresora", "打印 印刷 プリンター"],
    ["sell sale sold selling", "verkaufen verkauf umsatz", "vendre vente", "vender venta", "销售 販売 売上"],
    ["product item article", "produkt artikel ware", "produit article", "producto articulo", "产品 製品 商品"],
    ["discount coupon rebate", "rabatt nachlass gutschein", "remise rabais reduction", "descuento rebaja cupon", "折扣 割引"],
    ["tax vat", "steuer mehrwertsteuer", "taxe tva impot", "impuesto iva", "税"],
    ["test quality coverage", "qualitat", "qualite", "calidad", "质量 品質"],
    ["risk danger hazard", "risiko gefahr", "risque danger", "riesgo peligro", "风险 危険"],
    ["health healthy disease illness medical", "gesundheit krankheit gesund", "sante maladie", "salud enfermedad", "健康 病"],
    ["patient doctor hospital treat treatment", "patient arzt krankenhaus behandeln", "patient medecin hopital soigner", "paciente medico hospital tratar", "患者 医生 医院 治疗"],
    ["car vehicle auto", "auto wagen fahrzeug", "voiture vehicule", "coche vehiculo carro", "汽车 車両 自動車 车辆"],
    ["walk pedestrian foot", "fussganger zufuss", "pieton pied", "peaton pie", "行人 歩行 步行"],
    ["bicycle bike cyclist", "fahrrad radfahrer", "velo cycliste", "bicicleta ciclista", "自行 自転 骑车"],
    ["house home building flat apartment", "haus wohnung gebaude altbau", "maison logement batiment", "casa vivienda edificio", "房屋 住宅 建物"],
    ["rent tenant landlord lease", "miete mieter vermieter", "loyer locataire proprietaire bail", "renta alquiler inquilino casero", "租金 家賃"],
    ["work job office employment", "arbeit buro arbeitsplatz", "travail bureau emploi", "trabajo oficina empleo", "工作 仕事 勤務"],
    ["meeting appointment schedule calendar", "termin besprechung kalender", "reunion rendez-vous calendrier", "reunion cita calendario", "会议 会議 日程 予定"],
    ["holiday vacation leave", "urlaub ferien", "vacances conge", "vacaciones", "休暇 假期"],
    ["win winner prize award", "gewinnen preis sieger", "gagner prix vainqueur", "ganar premio ganador", "获奖 受賞"],
    ["author writer write book", "autor schriftsteller buch", "auteur ecrivain livre", "autor escritor libro", "作者 著者"],
    ["found discover discovery invent", "entdecken entdeckung erfinden", "decouvrir decouverte inventer", "descubrir descubrimiento inventar", "发现 発見"],
    ["construct construction building built", "bauen bau errichten", "construire construction", "construir construccion", "建设 建設"],
    ["complete finish done finished", "fertig abschliessen vollenden vollstandig", "achever terminer finir complet", "terminar acabar completar", "完成 終わ 完了"],
    ["high height tall altitude metre meter", "hoch hohe meter", "haut hauteur metre", "alto altura metro", "海拔 高さ メートル"],
    ["big large increase raise grow", "gross erhohen steigen vergrossern", "grand augmenter hausse", "grande aumentar subir", "增加 増加"],
    ["small little decrease lower reduce", "klein senken verringern reduzieren", "petit reduire baisser", "pequeno reducir bajar", "减少 減少"],
    ["record entry row dataset", "datensatz eintrag zeile", "enregistrement entree ligne", "registro entrada fila", "记录 記録 行"],
    ["result outcome output", "ergebnis ausgabe", "resultat sortie", "resultado salida", "结果 結果"],
    ["example sample", "beispiel muster", "exemple", "ejemplo muestra", "例子 例"],
    ["option flag switch parameter", "option schalter parameter", "option parametre", "opcion parametro", "选项 オプション"],
    ["script command shell", "skript befehl", "script commande", "guion comando orden", "脚本 コマンド 命令"],
    ["problem issue trouble incident ticket", "problem storung vorfall", "probleme incident", "problema incidencia", "问题 問題 事故"],
    ["energy battery power electric", "energie strom batterie elektrisch", "energie batterie electrique", "energia bateria electrico", "能源 電池 电池"],
    ["heat heating warm pump", "warme heizung heizen", "chaleur chauffage", "calor calefaccion", "暖房 供暖"],
    ["bridge road street traffic", "brucke strasse verkehr", "pont route rue circulation", "puente calle carretera trafico", "大桥 道路 交通 通行"],
    ["crack damage", "riss schaden", "fissure dommage", "grieta agrietado dano", "裂缝 亀裂"],
    ["plan planning roadmap", "planen planung", "planifier plan", "planear plan", "计划 計画"],
];
