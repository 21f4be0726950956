import Strata

/// The links between the pages of a list. The partial `pager` shows them.
struct Pager: Sendable {
    /// Nil in a list whose pages have no numbers.
    var page: Int?
    var first: TitledLink?
    var previous: TitledLink?
    var next: TitledLink?
    /// Why the list ends; nil if it does not, or ends with its last object.
    var note: String?
    let isNeeded: Bool

    /// The links of a list whose pages have numbers.
    ///
    /// - Parameters:
    ///   - page: the number of the page, from 1.
    ///   - link: the address of a page.
    init(page: Int, hasMore: Bool, _ link: (Int) -> String?) {
        self.page = page
        previous = page > 1 ? TitledLink("Previous", link(page - 1)) : nil
        next = hasMore ? TitledLink("Next", link(page + 1)) : nil
        isNeeded = page > 1 || hasMore
    }

    /// The links of a list whose pages begin at a position in both directions.
    ///
    /// - Parameters:
    ///   - previous: the address of the previous page; nil on the first page.
    ///   - next: the address of the next page; nil on the last page.
    init(previous: String?, next: String?) {
        self.previous = TitledLink("Previous", previous)
        self.next = TitledLink("Next", next)
        isNeeded = previous != nil || next != nil
    }

    /// The links of a list whose pages begin after an object, so that they stay right while objects come and go.
    ///
    /// - Parameters:
    ///   - first: the address of the first page; nil on the first page itself.
    ///   - next: the address of the next page; nil on the last page.
    ///   - note: why the list ends.
    init(
        first: String?,
        next: String?,
        firstTitle: String = "First",
        nextTitle: String = "Next",
        note: String? = nil
    ) {
        self.first = TitledLink(firstTitle, first)
        self.next = TitledLink(nextTitle, next)
        self.note = note
        isNeeded = first != nil || next != nil || note != nil
    }
}

/// A link with its words.
struct TitledLink: Sendable {
    let title: String
    let href: String

    /// - Returns: nil without an address.
    init?(_ title: String, _ href: String?) {
        guard let href else { return nil }
        (self.title, self.href) = (ViewText.line(title), href)
    }
}
