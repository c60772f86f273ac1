"""speedscope's own page (npm `speedscope`, its release folder), opened with a file of ours."""
import base64
import json
import os
import pathlib
import shutil
import subprocess

import debuggee_build

VERSION = "1.25.0"
ROOT = pathlib.Path(__file__).resolve().parents[2]


@debuggee_build.one_at_a_time
def folder():
    """The folder of its page, fetched once through npm; None: there is no npm, or it cannot be reached."""
    place = ROOT / "build" / "npm" / f"speedscope-{VERSION}"
    page = place / "package" / "dist" / "release"
    if (page / "index.html").exists():
        return page
    if not shutil.which("npm"):
        return None
    place.mkdir(parents=True, exist_ok=True)
    fetched = subprocess.run(["npm", "pack", "--silent", f"speedscope@{VERSION}"], cwd=place, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=60, check=False)
    archive = place / f"speedscope-{VERSION}.tgz"
    if fetched.returncode != 0 or not archive.exists():
        return None
    subprocess.run(["tar", "-xzf", archive.name], cwd=place, check=True)
    return page


def check(chromium, release, path, names, seconds=20):
    """Its page shows the file and lists these names, or browser.Failure is raised. Chromium: a browser.Browser."""
    script = pathlib.Path(path).with_suffix(".load.js")
    content = base64.b64encode(pathlib.Path(path).read_bytes()).decode()
    script.write_text(f"speedscope.loadFileFromBase64({json.dumps(os.path.basename(path))}, {json.dumps(content)})")
    page = chromium.open(f"{(release / 'index.html').as_uri()}#localProfilePath={script}", width=1200, height=800)
    try:
        # Its third view is a table of names; the others are drawings.
        page.wait("document.title.includes(' - ') || document.body.innerText.includes('Sandwich')", seconds)
        page.press("3")
        for name in names:
            page.wait(f"document.body.innerText.includes({json.dumps(name)})", seconds)
        if picture := os.environ.get("MIXSTACK_PICTURES"):
            page.picture(pathlib.Path(picture) / "speedscope.png")
        return page.evaluate("document.body.innerText")
    finally:
        page.close()
