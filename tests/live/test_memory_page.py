"""The page of `mixstack memory` in Chromium without a window: moments of which it is known what they must show, made by
tests/web, and one of a process.

MIXSTACK_PICTURES=FOLDER keeps a picture of each page.
"""
import json
import pathlib
import unittest

import debuggee_build
import mixstack_dump
import processes
import test_page

APP = "memoryPage"


class MemoryPageTest(test_page.PageTest):
    def open(self, kind, address="", **options):
        return super().open("memory " + kind, address, **options)

    def text(self, page, selector):
        """What can be read there, with single blanks."""
        return " ".join(page.evaluate(f"document.querySelector({json.dumps(selector)}).innerText").split())

    def rows(self, page):
        return page.evaluate("[...document.querySelectorAll('#table-rows .row')].map(r => [...r.children].map(c => c.innerText))")

    def width_of(self, page, which):
        """Of all pieces of a bar, and of the bar."""
        return page.evaluate(f"""(() => {{ const bar = document.querySelector('[data-stack={which}]');
            return [[...bar.children].reduce((sum, c) => sum + c.getBoundingClientRect().width, 0), bar.getBoundingClientRect().width]; }})()""")

    def bytes_of(self, page, which):
        return page.evaluate(f"[...document.querySelectorAll('[data-stack={which}] i')].reduce((sum, c) => sum + Number(c.dataset.bytes), 0)")


class Contents(MemoryPageTest):
    def test_bars_add_up(self):
        page = self.open("one")
        self.assertEqual(self.bytes_of(page, "now"), 69_020_000)
        pieces, bar = self.width_of(page, "now")
        self.assertAlmostEqual(pieces, bar, delta=1)
        generation = "#labels [data-kind=gc_objects][data-detail='2']"
        self.assertIn("50.0 MB 72.4 %", self.text(page, generation))
        self.assertEqual(page.evaluate(f"document.querySelectorAll('#labels .hint').length"), 1)  # the largest line has a hint
        self.assertTrue(page.evaluate(f"Boolean(document.querySelector({json.dumps(generation + ' .hint')}))"))
        self.assertIn("69.0 MB 100 %", self.text(page, "#labels .sum"))
        self.assertIn("12.5 %", self.text(page, "[data-figure=used_of_limit]"))

    def test_two_moments_are_a_difference(self):
        page = self.open("two")
        for which, resident in (("before", 50_020_000), ("now", 69_020_000)):
            self.assertEqual(self.bytes_of(page, which), resident)
            pieces, bar = self.width_of(page, which)
            self.assertAlmostEqual(pieces / bar, resident / 69_020_000, delta=0.01)
        self.assertIn("+20.0 MB", self.text(page, "#labels"))
        self.assertIn("\u22121.0 MB", self.text(page, "#labels"))
        self.assertIn("69.0 MB +19.0 MB", self.text(page, "#labels .sum"))
        self.assertEqual(self.rows(page)[0], ["Shop.Order", "16.0", "500,000", "+12.8", "+400,000", "+12.8"])
        self.assertEqual(page.evaluate("document.querySelectorAll('#remarks [data-code=forecast]').length"), 1)
        self.assertIn("mixstack why 4711", page.evaluate("[...document.querySelectorAll('#remarks [data-code=next] code')].map(c => c.innerText)"))
        self.assertEqual(page.evaluate("document.getElementById('account').dataset.collections"), "12 3 2")

    def test_types_are_sorted_and_searched(self):
        page = self.open("many")
        self.assertEqual(self.rows(page)[0][0], "Shop.Order")
        self.assertLess(len(self.rows(page)), 60)
        page.click_on("[data-sort=name]")
        self.assertEqual(self.rows(page)[0][0], "(gaps between objects)")
        page.click_on("[data-sort=objects]")
        self.assertEqual(self.rows(page)[0][:3], ["Shop.Order", "16.0", "500,000"])
        page.press("/")
        page.type("type19999")
        page.wait("document.getElementById('matched').innerText === '1 type'")
        self.assertEqual(self.rows(page), [["Shop.Generated.Type19999", "0.5", "100", "0.4"]])
        page.press("Escape")
        self.assertGreater(len(self.rows(page)), 10)

    def test_names_are_no_markup(self):
        page = self.open("hostile")
        self.assertIn("<b>orders</b>", self.text(page, "#title"))
        self.assertIn("<img src=x", self.rows(page)[0][0])
        self.assertEqual(page.evaluate("document.querySelectorAll('img, #elements script').length"), 0)
        self.assertIn("</script>", self.text(page, "#elements"))

    def test_a_core_has_types_alone(self):
        page = self.open("core")
        self.assertTrue(page.evaluate("document.getElementById('account-part').hidden"))
        self.assertIn("core.4711", self.text(page, "#title"))
        self.assertEqual(self.rows(page)[0][0], "Shop.Order")

    def test_a_tree_as_map_and_icicle(self):
        page = self.open("tree")
        def areas():
            return page.evaluate("""Object.fromEntries([...document.querySelectorAll('#holders rect')].map(r =>
                [r.querySelector('title').textContent.split(':')[0], r.getBoundingClientRect().width * r.getBoundingClientRect().height]))""")
        found = areas()
        self.assertAlmostEqual(found["static Shop.Cache.s_all"] / found["strong handles"], 2, delta=0.1)
        page.evaluate(f"{APP}.holders.enter({APP}.model.tree.children[0])")
        self.assertEqual(list(areas()), ["Order[]"])
        page.click_on("#crumbs button")
        page.click_on("#as-icicle")
        found = areas()
        self.assertAlmostEqual(found["objects that are held"] / found["static Shop.Cache.s_all"], 100 / 60, delta=0.05)

    def test_without_a_tree_there_is_no_place_for_it(self):
        self.assertTrue(self.open("one").evaluate("document.getElementById('holders-part').hidden"))

    def test_dark_narrow_and_help(self):
        page = self.open("two", width=420, dark=True)
        self.assertEqual(page.evaluate("document.documentElement.dataset.theme"), "dark")
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 420)
        page.press("?")
        self.assertIn("Escape", self.text(page, "#dialog [data-part=keys]"))


class OfAProcess(MemoryPageTest):
    def test_two_moments_of_one(self):
        path = pathlib.Path(self.folder.name) / "process.html"
        with processes.Debuggee([debuggee_build.moments(), "objects", "50000"]) as debuggee:
            status, _, error, _ = mixstack_dump.run("memory", debuggee.pid, "--types", "--most-pause", "5s", "--after", "2s", "-o", path)
            self.assertEqual((status, mixstack_dump.told(error)), (0, [("wrote", str(path))]))
        page = self.chromium.open(path.as_uri(), width=1300, height=850)
        page.wait(test_page.READY)
        self.addCleanup(self.leave, page, "memory-process")
        now = page.evaluate(f"{APP}.model.now.account.resident")
        self.assertEqual(self.bytes_of(page, "now"), now)
        grown = next(row for row in self.rows(page) if row[0] == "Moments.Kept")
        self.assertTrue(grown[4].startswith("+"), grown)


if __name__ == "__main__":
    unittest.main()
