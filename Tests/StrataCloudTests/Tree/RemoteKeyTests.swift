import Testing

@testable import StrataCloud

@Suite struct RemoteKeyTests {
    @Test("A combining mark does not belong to the slash before it")
    func combiningMark() throws {
        let key = RemoteKey(["home", "\u{301}x"])
        #expect(RemoteKey(path: key.path) == key)
        let path = TreePath(["a", "\u{301}x"])
        #expect(try TreePath(parsing: path.description) == path)
        #expect(try TreePath(parsing: "/\u{301}x").names == ["\u{301}x"])
    }

    @Test(
        "Names survive escaping",
        arguments: [
            ("a", "a"), (".", "%2E"), ("..", "%2E."), ("...", "..."), (".hidden", ".hidden"), ("a/b", "a%2Fb"),
            ("50%", "50%25"),
            ("a\\b", "a%5Cb"), ("line\nbreak", "line%0Abreak"), ("\u{7f}", "%7F"), ("\u{85}", "%C2%85"), ("é ü", "é ü"),
            ("%41", "%2541"),
            ("%metadata", "%25metadata"), ("\u{0}", "%00"),
        ]
    )
    func escapedNames(name: String, segment: String) throws {
        let key = RemoteKey(["top", name])
        #expect(key.segments == ["top", segment])
        let back = try #require(key.name)
        #expect(back.name == name)
        #expect(back.mark == nil)
        #expect(RemoteKey(found: key.segments) == key)
    }

    @Test("The key of a sidecar is never read as a name")
    func sidecarKeys() throws {
        let key = RemoteKey(["notes", "50%"]).sidecar("metadata")
        #expect(key.path == "notes/50%25%metadata")
        let back = try #require(key.name)
        #expect(back.name == "50%")
        #expect(back.mark == "metadata")
    }

    @Test("Dangerous segments are refused", arguments: ["", ".", "..", "a/b", "a\nb", "\u{7f}"])
    func dangerousSegments(segment: String) {
        #expect(RemoteKey(found: [segment]) == nil)
        #expect(RemoteKey(["x"]).appending(found: segment) == nil)
    }

    @Test("Segments that escaping cannot produce have no name", arguments: [["%2"], ["%zz%41"], ["a%"], ["%FF"]])
    func unescapedSegments(segments: [String]) throws {
        let name = try #require(RemoteKey(found: segments)).name
        #expect(name == nil || name?.mark != nil)
    }
}
