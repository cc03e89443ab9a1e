import unittest

from pricing import discount, subtotal, total

ORDER = [(250, 4), (999, 1)]


class Pricing(unittest.TestCase):
    def test_quantity_counts(self):
        self.assertEqual(subtotal(ORDER), 1999)

    def test_a_code_takes_its_percentage_off(self):
        self.assertEqual(discount(1000, "SAVE25"), 250)

    def test_a_discount_is_rounded_down(self):
        self.assertEqual(discount(1999, "SAVE10"), 199)

    def test_an_unknown_code_changes_nothing(self):
        self.assertEqual(total(ORDER, "NOPE"), 1999)

    def test_the_customer_pays_the_rest(self):
        self.assertEqual(total(ORDER, "SAVE10"), 1800)


if __name__ == "__main__":
    unittest.main()
