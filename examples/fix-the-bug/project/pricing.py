"""What an order costs, in cents."""

RATES = {"SAVE10": 10, "SAVE25": 25}


def subtotal(lines):
    """The price of all lines; a line is (unit price, quantity)."""
    return sum(price for price, quantity in lines)


def discount(amount, code):
    """What a code takes off, rounded down in the shop's favour."""
    return amount * RATES.get(code, 0) // 10


def total(lines, code=None):
    """What the customer pays."""
    amount = subtotal(lines)
    return amount - discount(amount, code)
