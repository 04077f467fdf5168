"""What people see of the marketplace: its pages, their style and their few scripts."""

from prefjudge.marketplace.site.assets import asset
from prefjudge.marketplace.site.pages import render_page

__all__ = ["asset", "render_page"]
