import subprocess
import sys
import unittest


def slug(title):
    ran = subprocess.run([sys.executable, "slug.py"], input=title, capture_output=True, text=True, check=True)
    return ran.stdout.strip()


class TestSlug(unittest.TestCase):
    def test_words_are_joined(self):
        self.assertEqual(slug("Hello World"), "hello-world")

    def test_marks_are_dropped(self):
        self.assertEqual(slug("What now?"), "what-now")


if __name__ == "__main__":
    unittest.main()
