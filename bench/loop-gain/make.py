"""Makes the tasks of the measure of the loop: `python3 make.py` writes `tasks.jsonl` beside it, always the
same. Texts and layouts are written by hand, values are drawn with a fixed seed. Every task has a goal and a
schema, `visible` (what the loop may check) and `oracle` (what it may not see), and answers that are wrong."""

import json
import pathlib
import random
import re

from functions import FUNCTIONS

chance = random.Random(20280)
NAMES = ["Ada Klein", "Omar Haddad", "Mina Sato", "Lena Fischer", "Paul Novak", "Ines Duarte", "Tom Baker", "Rosa Lind"]
FIRMS = ["Northwind Tools", "Harbour Foods", "Vega Print", "Oak Bakery", "Peak Cycles", "Delta Cleaning", "Blue Kettle"]
PLACES = ["Leeds", "Porto", "Graz", "Turin", "Lyon", "Bergen", "Ghent", "Cork"]
MONTHS = ["January", "March", "April", "May", "June", "September", "October"]


def pick(items):
    return chance.choice(items)


def money(low, high):
    return chance.randrange(low * 20, high * 20) / 20


def obj(**properties):
    return {"type": "object", "required": list(properties), "additionalProperties": False, "properties": properties}


# What a value of a kind looks like. A schema offers the pieces of the text that do: whoever writes it has read
# no text, and need not.
LOOKS = {
    "amount": (r"(?<![\d.])\d+\.\d\d(?!\d)", float), "decimal": (r"(?<![\d.])\d+\.\d+(?!\d)", float), "whole": (r"(?<![\w.:-])\d{1,5}(?![\w:-])(?!\.\d)", int),
    "five": (r"(?<!\d)\d{5}(?!\d)", str), "four": (r"(?<!\d)\d{4}(?!\d)", str), "time": (r"\d\d:\d\d", str), "date": (r"\d{4}-\d\d-\d\d", str),
    "name": (r"[A-Z][a-z]+ [A-Z][a-z]+", str), "phone": (r"\d{3} \d{3} \d{4}", str), "email": (r"[\w.]+@[\w.]+\.example", str),
    "code": (r"[A-Z]{2}\d{5}", str), "proper": (r"\b[A-Z][a-z]+\b", str), "word": (r"\b[a-z]{4,12}\b", str),
    "number": (r"(?<![\w.:])\d+(?:\.\d+)?(?![\w:])", float),
}


def one_of(look, source):
    """Every piece of the text that looks so, once."""
    pattern, kind = LOOKS[look]
    return {"enum": list(dict.fromkeys(kind(piece) for piece in re.findall(pattern, source)))}


def invoice(layout):
    rate = pick([5, 10, 20])
    net = chance.randrange(2, 40) * 10
    tax = net * rate / 100
    v = {"firm": pick(FIRMS), "no": chance.randrange(20000, 99999), "net": f"{net:.2f}", "tax": f"{tax:.2f}", "total": f"{net + tax:.2f}",
         "rate": rate, "day": chance.randrange(1, 28), "month": pick(MONTHS), "item": f"{net / 2:.2f}"}
    layouts = [
        "{firm}\nInvoice {no}   {day} {month} 2026\nNet amount {net}\nTax ({rate}%) {tax}\nTotal amount {total} EUR",
        "From: {firm}\nSubject: invoice {no}\n\nFor goods at {net} plus {tax} tax we ask for a total of {total} by {day} {month}.",
        "INVOICE NO {no} * {firm}\n2 x {item}\nnet {net} | VAT {tax} | to pay {total}",
        "dear customer, your invoice {no} of {day} {month}: the net sum is {net}, tax {tax}, together {total} GBP. {firm}",
        "{firm} / bill {no}\n  subtotal ..... {net}\n  sales tax .... {tax}\n  AMOUNT DUE ... {total}\nthank you!",
    ]
    answer = {"number": str(v["no"]), "net": net, "tax": tax, "total": net + tax}
    schema = {"number": "five", "net": "amount", "tax": "amount", "total": "amount"}
    rules = {"stands": ["number", "net", "tax", "total"], "holds": ["net + tax = total", "tax < net"]}
    wrong = [answer | {"net": answer["total"]}, answer | {"number": "11111"}]
    return "invoice", layouts[layout].format(**v), schema, rules, answer, wrong


def order(layout):
    count, price = chance.randrange(2, 25), money(2, 30)
    what = pick(["lamps", "mugs", "chairs", "notebooks", "candles", "bowls"])
    v = {"who": pick(NAMES), "n": count, "what": what, "price": f"{price:.2f}", "total": f"{count * price:.2f}", "id": chance.randrange(100, 999)}
    layouts = [
        "Order {id}: {n} {what} at {price} each, total {total}. Customer: {who}",
        "hi, {who} here. please send {n} {what}. your list says {price} a piece so that makes {total}, right?",
        "{what} | qty {n} | unit price {price} | sum {total}\nordered by {who}",
        "We confirm the order of {who}:\n{n} x {what}\nprice per item: {price}\namount: {total}\nref {id}",
        "{who} bought {what} ({n} of them, {price} each) and paid {total}",
    ]
    answer = {"item": what, "quantity": count, "price": price, "total": round(count * price, 2)}
    schema = {"item": "word", "quantity": "whole", "price": "amount", "total": "amount"}
    rules = {"stands": ["item", "quantity", "price", "total"], "holds": ["quantity * price = total"]}
    wrong = [answer | {"quantity": count + 1}, answer | {"price": answer["total"]}]
    return "order", layouts[layout].format(**v), schema, rules, answer, wrong


def meter(layout):
    before, used = chance.randrange(1000, 8000), chance.randrange(40, 700)
    v = {"before": before, "now": before + used, "used": used, "street": pick(["Mill Lane", "High Street", "Park Road", "Elm Row"]),
         "no": chance.randrange(1, 90), "day": chance.randrange(1, 28), "month": pick(MONTHS)}
    layouts = [
        "Meter at {no} {street}: previous reading {before}, current reading {now}, used {used} kWh",
        "{day} {month}, {street}. Last time the meter showed {before}. Today it shows {now}. That is {used} kWh.",
        "OLD {before}\nNEW {now}\nUSED {used}\n{no} {street}",
        "hello, our meter went from {before} to {now} since {month}, so we used {used} units. {no} {street}",
        "reading: {now} (before: {before}) consumption: {used} checked on {day} {month}",
    ]
    answer = {"previous": before, "current": before + used, "used": used}
    schema = {"previous": "whole", "current": "whole", "used": "whole"}
    rules = {"stands": ["previous", "current", "used"], "holds": ["previous + used = current", "previous < current"]}
    wrong = [answer | {"used": used + 1}, {"previous": before + used, "current": before, "used": used}]
    return "meter", layouts[layout].format(**v), schema, rules, answer, wrong


def contact(layout):
    name = pick(NAMES)
    first, family = name.split()
    mail = pick([f"{first}.{family}@{{}}.example", f"{first[0]}{family}@{{}}.example"]).lower().format(pick(["mail", "office", "post"]))
    phone = f"0{chance.randrange(20, 99)} {chance.randrange(100, 999)} {chance.randrange(1000, 9999)}"
    v = {"name": name, "mail": mail, "phone": phone, "firm": pick(FIRMS), "room": chance.randrange(100, 400)}
    layouts = [
        "{name}, {firm}\ntel {phone}\n{mail}",
        "Please call {name} on {phone} or write to {mail}. Room {room}.",
        "-- \n{name} | {firm} | {mail} | {phone}",
        "our new colleague is {name} (room {room}, phone {phone}), mail goes to {mail}",
        "Contact: {mail} / {phone}\nAsk for {name}",
    ]
    answer = {"name": name, "phone": phone, "email": mail}
    schema = {"name": "name", "phone": "phone", "email": "email"}
    rules = {"stands": ["name", "phone", "email"]}
    wrong = [answer | {"name": "John Smith"}, answer | {"phone": "000 000 0000"}]
    return "contact", layouts[layout].format(**v), schema, rules, answer, wrong


def meeting(layout):
    start, long = chance.randrange(8, 16), chance.randrange(1, 3)
    v = {"what": pick(["budget review", "kick-off", "design talk", "staff lunch", "safety training"]), "day": f"2026-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}",
         "from": f"{start:02}:{pick(['00', '15', '30'])}", "to": f"{start + long:02}:45", "room": chance.randrange(10, 60), "who": pick(NAMES)}
    layouts = [
        "{what}, {day}, {from} to {to}, room {room}",
        "Date: {day}\nStart: {from}\nEnd: {to}\n{what} with {who}",
        "{who} invites you: {what} on {day}. We begin at {from} and end at {to}.",
        "reminder!! {what} in room {room}: {day} from {from} until {to}",
        "{day} | {from}-{to} | {what} | {who}",
    ]
    answer = {"begin": v["from"], "date": v["day"], "end": v["to"]}
    schema = {"begin": "time", "date": "date", "end": "time"}
    rules = {"stands": ["begin", "date", "end"], "holds": ["begin < end"]}
    wrong = [answer | {"begin": v["to"], "end": v["from"]}, answer | {"date": "2026-12-31"}]
    return "meeting", layouts[layout].format(**v), schema, rules, answer, wrong


def parcel(layout):
    a, b = chance.sample(PLACES, 2)
    v = {"code": f"{pick('ABCDEFGH')}{pick('KLMNPR')}{chance.randrange(10000, 99999)}", "kg": f"{chance.randrange(5, 200) / 10:.1f}", "a": a, "b": b, "fee": f"{money(4, 20):.2f}"}
    layouts = [
        "Parcel {code} from {a} to {b}, weight {kg} kg, fee {fee}",
        "Your parcel {code} ({kg} kg) left {a} and is on its way to {b}.",
        "{code}\nFROM {a}\nTO {b}\n{kg} kg   paid {fee}",
        "tracking code {code}: picked up in {a}, will be delivered in {b}. It weighs {kg} kg.",
        "sender in {a}, receiver in {b}, {kg} kg, number {code}",
    ]
    answer = {"code": v["code"], "from": a, "to": b, "kg": float(v["kg"])}
    schema = {"code": "code", "from": "proper", "to": "proper", "kg": "decimal"}
    rules = {"stands": ["code", "from", "to", "kg"], "beside": {"from": r"\bfrom:? (\w+)", "to": r"\bto:? ([A-Z]\w+)"}}
    wrong = [answer | {"from": b, "to": a}, answer | {"code": "AA00000"}]
    return "parcel", layouts[layout].format(**v), schema, rules, answer, wrong


EXTRACTIONS = [invoice, order, meter, contact, meeting, parcel]

TIME, NAME, COUNT, DIGITS, ITEM, NUMBER = "time", "proper", "whole", "four", "word", "number"

# Each set: tools with their fields, what a call of each must show in the request, and requests with their call.
TOOLSETS = [
    ("home", {
        "set_light": ({"room": {"enum": ["kitchen", "bedroom", "hall", "office"]}, "percent": COUNT},
                      {"stands": ["room", "percent"], "words": r"light|lamp|bright|dim"}),
        "set_heat": ({"room": {"enum": ["kitchen", "bedroom", "hall", "office"]}, "degrees": COUNT},
                     {"stands": ["room", "degrees"], "words": r"heat|warm|degree|cold|radiator"}),
    }, [("Dim the bedroom light to 40 percent please", {"action": "set_light", "room": "bedroom", "percent": 40}),
        ("It is cold, make the office 22 degrees", {"action": "set_heat", "room": "office", "degrees": 22}),
        ("Kitchen lamp at 75 percent", {"action": "set_light", "room": "kitchen", "percent": 75}),
        ("Could you warm the hall up to 19 degrees before 8?", {"action": "set_heat", "room": "hall", "degrees": 19}),
        ("turn the radiator in the bedroom to 17, I sleep badly at 23", {"action": "set_heat", "room": "bedroom", "degrees": 17})]),
    ("bank", {
        "transfer": ({"to": NAME, "amount": COUNT}, {"stands": ["to", "amount"], "words": r"send|pay|transfer|give", "beside": {"to": r"\bto ([A-Z]\w+)"}}),
        "block_card": ({"digits": DIGITS}, {"stands": ["digits"], "words": r"block|lost|stolen|freeze"}),
    }, [("Send 120 euros to Marta for the rent", {"action": "transfer", "to": "Marta", "amount": 120}),
        ("My card ending in 4417 was stolen!", {"action": "block_card", "digits": "4417"}),
        ("I lost the card with 9032 at the end, please freeze it", {"action": "block_card", "digits": "9032"}),
        ("Pay 45 to Jonas from my 2210 card", {"action": "transfer", "to": "Jonas", "amount": 45}),
        ("transfer 300 to Elif, not to Emre", {"action": "transfer", "to": "Elif", "amount": 300})]),
    ("diner", {
        "book_table": ({"people": COUNT, "time": TIME}, {"stands": ["people", "time"], "words": r"book|table|reserve|seat"}),
        "cancel_table": ({"name": NAME}, {"stands": ["name"], "words": r"cancel|call off|not come|cannot"}),
    }, [("Book a table for 4 at 19:30", {"action": "book_table", "people": 4, "time": "19:30"}),
        ("Please cancel the table of Weber", {"action": "cancel_table", "name": "Weber"}),
        ("We are 6 and would like to reserve for 12:15 tomorrow", {"action": "book_table", "people": 6, "time": "12:15"}),
        ("Rossi here, we cannot come tonight at 20:00", {"action": "cancel_table", "name": "Rossi"}),
        ("a seat for 2 around 18:45 on the 3rd, name Green", {"action": "book_table", "people": 2, "time": "18:45"})]),
    ("clock", {
        "set_alarm": ({"time": TIME}, {"stands": ["time"], "words": r"alarm|wake|get up"}),
        "set_timer": ({"minutes": COUNT}, {"stands": ["minutes"], "words": r"timer|minute|count"}),
        "world_time": ({"city": NAME}, {"stands": ["city"], "words": r"what time|late|clock"}),
    }, [("Wake me at 06:45", {"action": "set_alarm", "time": "06:45"}),
        ("Set a timer of 12 minutes for the eggs", {"action": "set_timer", "minutes": 12}),
        ("What time is it in Lima now?", {"action": "world_time", "city": "Lima"}),
        ("I have to get up at 05:20 tomorrow, alarm please", {"action": "set_alarm", "time": "05:20"}),
        ("how late is it in Oslo when it is 10:00 here?", {"action": "world_time", "city": "Oslo"})]),
    ("shop", {
        "add_stock": ({"item": ITEM, "count": COUNT}, {"stands": ["item", "count"], "words": r"add|arriv|new|deliver|received"}),
        "set_price": ({"item": ITEM, "price": NUMBER}, {"stands": ["item", "price"], "words": r"price|cost|sell"}),
    }, [("We received 60 lamps, add them", {"action": "add_stock", "item": "lamps", "count": 60}),
        ("The price of mugs is now 7.50", {"action": "set_price", "item": "mugs", "price": 7.5}),
        ("sell the chairs for 89.00 from today", {"action": "set_price", "item": "chairs", "price": 89}),
        ("24 new bowls arrived this morning", {"action": "add_stock", "item": "bowls", "count": 24}),
        ("Candles shall cost 3.25, not 4.10: set candles", {"action": "set_price", "item": "candles", "price": 3.25})]),
    ("travel", {
        "find_train": ({"from": NAME, "to": NAME}, {"stands": ["from", "to"], "words": r"train|rail",
                                                   "beside": {"from": r"\bfrom ([A-Z]\w+)", "to": r"\bto ([A-Z]\w+)"}}),
        "find_hotel": ({"city": NAME, "nights": COUNT}, {"stands": ["city", "nights"], "words": r"hotel|room|night|stay"}),
    }, [("Which train goes from Turin to Lyon?", {"action": "find_train", "from": "Turin", "to": "Lyon"}),
        ("I need a hotel in Porto for 3 nights", {"action": "find_hotel", "city": "Porto", "nights": 3}),
        ("a room in Graz, 5 nights, for 2 people", {"action": "find_hotel", "city": "Graz", "nights": 5}),
        ("rail ticket to Ghent from Bergen", {"action": "find_train", "from": "Bergen", "to": "Ghent"}),
        ("we stay 4 nights in Cork and come from Leeds", {"action": "find_hotel", "city": "Cork", "nights": 4})]),
]


def offered(kind, request):
    """What the request offers for a field."""
    found = one_of(kind, request) if isinstance(kind, str) else kind
    return found if found["enum"] else {"enum": ["unknown"]}


def tool_tasks():
    for kind, tools, requests in TOOLSETS:
        listed = "\n".join(f"- {name}: {', '.join(fields)}" for name, (fields, _) in tools.items())
        rules = {name: rule for name, (_, rule) in tools.items()}
        for place, (request, answer) in enumerate(requests):
            others = [a for _, a in requests if a != answer]
            fitting = {name: {field: offered(kind, request) for field, kind in fields.items()} for name, (fields, _) in tools.items()}
            schema = {"anyOf": [obj(action={"const": name}, **fields) for name, fields in fitting.items()]}
            goal = f"Tools:\n{listed}\n\nRequest: {request}\n\nWrite the call of the one tool that does what the request asks."
            yield {"id": f"tools/{kind}-{place + 1}", "family": "tools", "goal": goal, "schema": schema,
                   "visible": {"text": request, "rules": rules}, "oracle": {"answer": answer}, "wrong": others[:2]}


def extraction_tasks():
    for make in EXTRACTIONS:
        for layout in range(5):
            about, source, schema, rules, answer, wrong = make(layout)
            names = ", ".join(sorted(schema))
            schema = obj(**{name: one_of(look, source) for name, look in schema.items()})
            goal = f"{source}\n\nWrite the record of this {about}: {names}. Copy every value from the text."
            yield {"id": f"extraction/{make.__name__}-{layout + 1}", "family": "extraction", "goal": goal, "schema": schema,
                   "visible": {"text": source, "rules": rules}, "oracle": {"answer": answer}, "wrong": wrong}


# Slips that one edit mends: each of a group may stand for another of it.
SLIPS = [["+", "-", "*", "/", "//", "**", "%"], ["<", ">", "<=", ">=", "==", "!="], ["=", "+=", "-=", "*="], ["and", "or", "and not", "or not"], ["in", "not in", "==", "!="],
         ["min", "max", "sum", "len", "sorted"], ["lower", "upper", "strip", "split", "title"], ["index", "count"],
         ["True", "False"], ["' '", "','", "'-'", "''"]]
PIECES = re.compile(r"'[^']*'|-?\d+(?:\.\d+)?|\bnot in\b|\w+|[-+*/<>=!%]+|\S")


def edits(line):
    """The line with one slip undone: a piece for another of its group, two names or values in each other's place,
    one more or one less at the end of a range, a `split()` or `key=len` that was forgotten."""
    pieces = list(PIECES.finditer(line))
    put = lambda piece, new: line[: piece.start()] + new + line[piece.end():]
    for piece in pieces:
        for group in SLIPS:
            if piece.group() in group:
                yield from (put(piece, other) for other in group if other != piece.group())
        if re.fullmatch(r"-?\d+(\.\d+)?", piece.group()):
            value = float(piece.group())
            yield from (put(piece, f"{other:g}") for other in (0, 1, -1, value + 1, value - 1, value * 10, value * 60))
    for name in dict.fromkeys(re.findall(r"\((\w+)\)", line)):
        yield line.replace(f"({name})", f"({name}.split())")
        yield line.replace(f"({name})", f"({name}, key=len)")
    for name in dict.fromkeys(re.findall(r", (\w+)\)", line)):
        yield from (line.replace(f", {name})", f", {name} {sign} 1)") for sign in "+-")
    for one, other in re.findall(r"(\w+) [-+*/%<>]+ (\w+)", line) + re.findall(r"\(('[^']*'), ('[^']*')\)", line):
        yield re.sub(rf"{re.escape(one)}(.+?){re.escape(other)}", rf"{other}\1{one}", line, count=1)
    yield re.sub(r", reverse=True", "", line)


def repair_tasks():
    for name, about, lines, wrong, right, visible, hidden in FUNCTIONS:
        old = lines[wrong].strip()
        code = "\n".join(lines)
        goal = (f"{code}\n\nThis Python function must give {about}, so that {' and '.join(visible)}. It does not, because its "
                f"line `{old}` is wrong. Write the right line of code instead of it.")
        yield {"id": f"repair/{name}", "family": "repair", "goal": goal, "schema": obj(line={"enum": [line for line in dict.fromkeys(edits(old)) if line != old]}),
               "visible": {"lines": lines, "wrong": wrong, "tests": visible},
               "oracle": {"answer": {"line": right.strip()}, "tests": visible + hidden}, "wrong": [{"line": old}, {"line": "return None"}]}


def main():
    tasks = [*extraction_tasks(), *tool_tasks(), *repair_tasks()]
    for place, task in enumerate(tasks):
        task["split"] = "tuning" if place % 2 == 0 else "held-out"
    path = pathlib.Path(__file__).resolve().parent / "tasks.jsonl"
    path.write_text("".join(json.dumps(task, ensure_ascii=False) + "\n" for task in tasks))
    print(f"{len(tasks)} tasks")


if __name__ == "__main__":
    main()
