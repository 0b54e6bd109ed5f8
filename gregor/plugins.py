"""What the author of a plug-in imports, and nothing else: the page that a function is given, and the link that it may yield.

from gregor.plugins import Link, Page

def products(page: Page):
    for box in page.selector.css("div.product"):
        yield {"name": box.css("h2::text").get(), "price": float(box.css("b::text").get())}
    yield Link("/products?page=2")
"""

from workers.extractor.plugin import Link, Page

__all__ = ["Link", "Page"]
