import Testing

@testable import StrataCloud

@Suite("Share lists") struct ShareListTests {
    @Test("An empty share list is stored as a fixed text, and every stored list can be read again")
    func text() throws {
        let some = ShareList(["bob": .init(permissions: ["r", "w"], key: "k")])
        #expect(try ShareList().storedValue == .text(ShareList.emptyText))
        for list in [ShareList(), some] { #expect(try ShareList(storedValue: list.storedValue) == list) }
        #expect(ShareList(storedValue: .text(#"{"shares": {}}"#)) == ShareList())
        #expect(ShareList(storedValue: .text("{}")) == nil && ShareList(storedValue: .null) == nil)
    }
}
