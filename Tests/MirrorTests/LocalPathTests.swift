import Foundation
import Testing

@testable import MirrorKit

/// Paths are compared and split by bytes.
@Suite struct LocalPathTests {
    /// Names that begin with a character that combines with a slash before it, or end with one that combines with a
    /// slash after it.
    static let names = ["\u{301}accent", "\u{1F3FD}.txt", "\u{FE0F}", "\u{93F}hindi", "\u{200D}x", "ends\u{600}"]

    @Test("A name that begins with a combining mark after a slash is a name", arguments: names)
    func combiningSlash(name: String) {
        let path = LocalPath(["f", name, "g"])
        #expect(path.names.map { Array($0.utf8) } == ["f", name, "g"].map { Array($0.utf8) })
        #expect(path.last == "g" && path.folder == LocalPath(["f", name]) && path.folder?.last == name)
        #expect(path.isBelow("f") && path.isBelow(LocalPath(["f", name])) && !path.isBelow(path))
        #expect(path.moved(from: "f", to: "h") == LocalPath(["h", name, "g"]))
        #expect(LocalPath.join(LocalPath(name), name).names.count == 2)
        #expect(LocalPath([name, "a"]).folders == [LocalPath(name)])
    }

    @Test("Two Unicode spellings of one letter are two names")
    func twoSpellings() {
        let (first, second) = (LocalPath("\u{E9}"), LocalPath("e\u{301}"))
        #expect(first != second && Set([first, second]).count == 2 && second < first)
        #expect(!LocalPath("e\u{301}/a").isBelow(first) && LocalPath("e\u{301}/a").isBelow(second))
        #expect(!LocalPath("fa").isBelow("f") && !LocalPath("f").isBelow("f/a"))
    }
}
