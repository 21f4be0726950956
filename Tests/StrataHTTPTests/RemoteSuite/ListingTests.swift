import Foundation
import StrataCloud
import Testing

@Suite(.timeLimit(.minutes(5))) struct ListingTests {
    @Test("A folder lists its direct children", arguments: RemoteCase.all)
    func directChildren(kind: RemoteCase) async throws {
        let remote = try await kind.make()
        let keys = [["a"], ["b", "c"], ["b", "d", "e"], ["bb"]].map { RemoteKey($0) }
        for folder in [["b"], ["b", "d"], ["empty"]] { try await remote.createFolder(RemoteKey(folder)) }
        var versions: [RemoteKey: ETag] = [:]
        for key in keys { versions[key] = try await remote.put(key.path, at: key).eTag }
        let top = try await remote.all(.root)
        #expect(top.map(\.key.path) == ["a", "b", "bb", "empty"])
        #expect(top.map(\.isFolder) == [false, true, false, true])
        #expect(top.map(\.size) == [1, nil, 2, nil])
        #expect(top[0].eTag == versions[keys[0]] && top[1].eTag == nil)
        #expect(try #require(top[0].modifiedAt).timeIntervalSinceNow > -60)
        #expect(try await remote.all(RemoteKey(["b"])).map(\.key.path) == ["b/c", "b/d"])
        #expect(try await remote.all(RemoteKey(["empty"])).isEmpty)
        guard try await remote.capabilities().listsRecursively else {
            await expect(.unsupported) { try await remote.list(.root, isRecursive: true, after: nil) }
            return
        }
        let whole = try await remote.all(.root, isRecursive: true)
        #expect(whole.filter { !$0.isFolder }.map(\.key.path) == ["a", "b/c", "b/d/e", "bb"])
        #expect(whole.filter(\.isFolder).map(\.key.path) == ["b", "b/d", "empty"])
        #expect(try await remote.all(RemoteKey(["b"]), isRecursive: true).map(\.key.path) == ["b/c", "b/d", "b/d/e"])
    }

    @Test(
        "More than a thousand objects are listed, each once",
        arguments: [RemoteCase.folder, .ministack, .lighttpd, .apache]
    )
    func manyObjects(kind: RemoteCase) async throws {
        let remote = try await kind.make()
        let folder = RemoteKey(["many"])
        try await remote.createFolder(folder)
        let count = 1203
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<8 {
                group.addTask {
                    for number in stride(from: lane, to: count, by: 8) {
                        try await remote.put("", at: folder.appending("object \(number)"))
                    }
                }
            }
            try await group.waitForAll()
        }
        let names = try await remote.all(folder).map { $0.key.segments.last }
        #expect(Set(names) == Set((0..<count).map { "object \($0)" }))
        #expect(names.count == count)
    }

    /// Names that servers, URLs, signatures or shells may misinterpret.
    static let names = [
        "with space", "  two  ", "plus+sign", "per%cent", "%41", "%2F", "a%20b", "question?mark=1&b", "hash#tag",
        "semi;colon", "at@:",
        ".hidden", "..two", "...", ".", "..", "trailing.", "tilde~", "back\\slash", "quote\"'", "<tag>&amp;", "star*",
        "[a]{b}|", "a/b",
        "größe", "gro\u{308}ße", "日本語", "🦆", "e\u{301}", "CASE", "case", "new\nline", "tab\t", "\u{7f}", "(paren)",
        "$dollar", "!", "=", ",",
        String(repeating: "x", count: 200), String(repeating: "ä", count: 100), "-", "_", "^", "`",
    ]

    @Test("Names of all kinds survive a round trip", arguments: RemoteCase.all)
    func namesOfAllKinds(kind: RemoteCase) async throws {
        let remote = try await kind.make()
        let folder = RemoteKey(["odd names & more"])
        try await remote.createFolder(folder)
        var keys: Set<RemoteKey> = []
        for name in Self.names {
            let key = folder.appending(name)
            keys.insert(key)
            try await remote.put(name, at: key)
        }
        #expect(keys.count == Self.names.count)
        let listed = try await remote.all(folder)
        let found = Set(listed.map(\.key))
        #expect(found == keys, "missing \(keys.subtracting(found)), unknown \(found.subtracting(keys))")
        for name in Self.names {
            let key = folder.appending(name)
            #expect(try await remote.text(key) == name)
            #expect(try await remote.head(key)?.size == Int64(name.utf8.count), "\(name)")
        }
        for name in Self.names {
            #expect(try await remote.delete(folder.appending(name), isFolder: false, if: .none), "\(name)")
        }
        #expect(try await remote.delete(folder, isFolder: true, if: .none))
    }

    @Test("Folders have names of all kinds", arguments: RemoteCase.all)
    func folderNames(kind: RemoteCase) async throws {
        let remote = try await kind.make()
        for name in ["a b", "ä+%&", "?#", ".x"] {
            let folder = RemoteKey([name])
            #expect(try await remote.createFolder(folder))
            try await remote.put("in", at: folder.appending(name))
            #expect(try await remote.all(folder).map(\.key) == [folder.appending(name)])
        }
        #expect(try await remote.all(.root).count == 4)
    }

    @Test("Names that are too long or empty are refused", arguments: RemoteCase.all)
    func invalidNames(kind: RemoteCase) async throws {
        let remote = try await kind.make()
        let long = RemoteKey([String(repeating: "x", count: 1100)])
        let failure = await code { try await remote.put("a", at: long) }
        // WebDAV servers do not report the reason.
        #expect(
            failure == .invalidKey || RemoteCase.webDAV.contains(kind) && failure != nil,
            "\(failure?.description ?? "none")"
        )
        for key in [RemoteKey([""]), RemoteKey(["a", "", "b"])] {
            await expect(.invalidKey) { try await remote.put("a", at: key) }
            await expect(.invalidKey) { try await remote.head(key) }
            await expect(.invalidKey) { try await remote.createFolder(key) }
        }
    }
}
