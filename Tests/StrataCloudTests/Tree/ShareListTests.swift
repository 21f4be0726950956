import Testing

@testable import StrataCloud

@Suite("N1 share lists") struct ShareListTests {
    @Test("the text of an empty list is the one that is known without being decoded, and others are decoded")
    func text() throws {
        let some = ShareList(["bob": .init(permissions: ["r", "w"], key: "k")])
        #expect(try ShareList().storedValue == .text(ShareList.emptyText))
        for list in [ShareList(), some] { #expect(try ShareList(storedValue: list.storedValue) == list) }
        #expect(ShareList(storedValue: .text(#"{"shares": {}}"#)) == ShareList())
        #expect(ShareList(storedValue: .text("{}")) == nil && ShareList(storedValue: .null) == nil)
    }
}
