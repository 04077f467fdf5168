import pytest

pytest.register_assert_rewrite("prefjudge.testing")
