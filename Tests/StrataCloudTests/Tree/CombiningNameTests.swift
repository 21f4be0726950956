import Foundation
import Strata
import Testing

@testable import StrataCloud

/// Paths and keys are compared and split by bytes: to Swift, a slash and a combining mark after it are one character.
@Suite struct CombiningNameTests {
    /// Names that begin with a character that combines with the one before it, or end with one that combines with the
    /// next.
    static let names = ["\u{301}accent", "\u{1F3FD}.txt", "\u{FE0F}", "\u{93F}hindi", "\u{200D}x", "ends\u{600}"]

    @Test("Paths and keys with combining marks are parsed as they were written", arguments: names)
    func roundTrip(name: String) throws {
        let path = TreePath([name, name], in: .inbox)
        let read = try TreePath(parsing: path.description)
        #expect(read.names.map { Array($0.utf8) } == [Array(name.utf8), Array(name.utf8)] && read.trunk == .inbox)
        let key = RemoteKey([name, "x", name])
        #expect(RemoteKey(path: key.path) == key && key.isWithin(RemoteKey([name])))
        #expect(RemoteKey([name]).sidecar(Sidecar.metadata).name?.name.utf8.elementsEqual(name.utf8) == true)
    }

    @Test("The sidecar files of an object with such a name are found", arguments: names)
    func sidecarFiles(name: String) async throws {
        let key = RemoteKey(["home", name])
        let sidecar = key.sidecar(Sidecar.metadata)
        let remote = StrictRemote()
        _ = try await remote.createFolder(RemoteKey(["home"]))
        for key in [key, sidecar] { _ = try await remote.put(RemoteBody(Data()), at: key, if: .isAbsent) }
        let tree = try await RemoteTree.find(in: remote, isKnown: { _ in false })
        #expect(tree.sidecars[key]?[UTF8Text(Sidecar.metadata)]?.key == sidecar && tree.objects.map(\.key) == [key])
    }

    @Test("A slash in a segment is refused, even before a combining mark")
    func slashInSegment() throws {
        for segment in ["a/b", "a/\u{301}b", "a\0\u{301}"] {
            #expect(throws: RemoteError.self) { try RemoteKey(escaped: [segment]).requireNames() }
        }
        try RemoteKey(["\u{301}"]).requireNames()
    }

    @Test("A colon ends the name of a trunk, even before a combining mark")
    func colonAfterTrunk() throws {
        #expect(try TreePath(parsing: "inbox:\u{301}x") == TreePath(["\u{301}x"], in: .inbox))
    }

    @Test("The quotes of a version are recognized at its ends")
    func quotedVersion() {
        #expect(ETag(header: "\"\u{301}x\"").value.utf8.elementsEqual("\u{301}x".utf8))
        #expect(ETag(header: "W/\"\u{301}\"") == ETag("\u{301}", isWeak: true))
        #expect(ETag(header: "\"").value == "\"" && ETag(header: "bare").value == "bare")
    }
}
