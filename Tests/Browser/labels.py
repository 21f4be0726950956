"""The texts and names of the console's pages that tests look for. If a page changes its texts, change them here.

Most tests need none of them: they find the pages by the links of the navigation.
"""

# Titles of pages in the navigation.
OVERVIEW = "Overview"
PIPELINES = "Pipelines"
OPERATIONS = "Operations"

# Buttons.
ENTER = "Enter"
PAUSE = "Pause"
RESUME = "Resume"
RETRY = "Retry"
"""On the page of an operation, below the list of operations, and on the page that asks for a confirmation."""
FILTER = "Filter"
"""The button that applies the filters of the page of operations."""

# Names of fields in forms.
TOKEN_FIELD = "token"
STATUS_FIELD = "state"
TEXT_FIELD = "type"
"""A filter of the page of operations into which a text is typed."""
CHECK_BOX = "id"
"""The check boxes of the operations that a bulk action changes."""

# Texts.
WRONG_TOKEN = "This token is wrong."
REFUSED = "Nothing was changed."
RETRIED = "retried"
"""A part of the notice after a retry."""
FAILED = "failed"
"""The status of a failed operation, in the filter and in the output of the command-line tool."""
