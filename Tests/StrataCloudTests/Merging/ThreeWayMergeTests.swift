import Foundation
import StrataCloud
import Testing

/// The rules of three-way merging: the original, the two changed versions, and the merged result.
@Suite struct ThreeWayMergeTests {
    @Test(
        "Share lists merge the additions and removals of both sides",
        arguments: [
            ("G1", "a", "a", "ab", "ab"), ("G2", "ab", "ab", "a", "a"), ("G3", "ab", "ab", "ac", "ac"),
            ("G4", "a", "ab", "ac", "abc"),
            ("G5", "ab", "abc", "a", "ac"), ("G6", "ab", "a", "abc", "ac"), ("G7", "abc", "ac", "ab", "a"),
            ("G8", "a", "ab", "ab", "ab"), ("G9", "ab", "a", "a", "a"),
        ]
    )
    func shares(row: String, original: String, local: String, remote: String, result: String) {
        func list(_ names: String) -> ShareList {
            ShareList(Dictionary(uniqueKeysWithValues: names.map { ("\($0)", .init()) }))
        }
        #expect(
            ShareList.merge(original: list(original), local: list(local), remote: list(remote)) == list(result),
            "\(row)"
        )
        let sets = ThreeWayMerge.set(original: Set(original), local: Set(local), remote: Set(remote))
        #expect(sets == Set(result), "\(row)")
    }

    @Test("A merge keeps a key that changed locally and permissions that changed at the remote") func g10() throws {
        let original = ShareList(["bob": .init(permissions: ["r"], key: "old")])
        let local = ShareList(["bob": .init(permissions: ["r"], key: "new")])
        let remote = ShareList(["bob": .init(permissions: ["r", "w"], key: "old")])
        let merged = ShareList(["bob": .init(permissions: ["r", "w"], key: "new")])
        #expect(ShareList.merge(original: original, local: local, remote: remote) == merged)
        #expect(try ThreeWayMerge.record(original: original, local: local, remote: remote) == merged)
    }

    @Test("If both sides change a key, the merge takes the remote's key") func g11() {
        func list(_ key: String) -> ShareList { ShareList(["bob": .init(permissions: ["r"], key: key)]) }
        #expect(ShareList.merge(original: list("old"), local: list("mine"), remote: list("theirs")) == list("theirs"))
    }

    private struct Record: Codable, Equatable {
        var string: String?
        var int: Int? = 42
        var names: [String: String]?
        var decimal: Decimal?
    }

    private func merge(_ original: Record, _ local: (inout Record) -> Void, _ remote: (inout Record) -> Void) throws
        -> Record
    {
        var (mine, theirs) = (original, original)
        local(&mine)
        remote(&theirs)
        return try ThreeWayMerge.record(original: original, local: mine, remote: theirs)
    }

    @Test("If each side changes a different property, the merge takes both changes", arguments: ["abc123", nil])
    func g12(
        text: String?
    )
        throws
    {
        let merged = try merge(Record(string: text)) {
            $0.string = "def456"
        } _: {
            $0.int = 43
        }
        #expect(merged == Record(string: "def456", int: 43))
    }

    @Test("If both sides change a property, the merge takes the remote's value", arguments: ["abc123", nil]) func g13(
        text: String?
    ) throws {
        let merged = try merge(Record(string: text)) {
            $0.string = "def456"
        } _: {
            ($0.string, $0.int) = ("xyz789", 43)
        }
        #expect(merged == Record(string: "xyz789", int: 43))
    }

    @Test("A merge drops a property that the remote has removed") func g14() throws {
        let merged = try merge(Record(string: "abc123")) {
            $0.int = 43
        } _: {
            $0.string = nil
        }
        #expect(merged == Record(string: nil, int: 43))
    }

    @Test("A merge combines a dictionary of a record key by key") func g15() throws {
        let merged = try merge(Record(string: "a", names: ["dog": "1"])) {
            $0.string = "b"
            $0.names?["cat"] = "2"
        } _: {
            $0.int = 43
            $0.names?["duck"] = "3"
        }
        #expect(merged == Record(string: "b", int: 43, names: ["dog": "1", "cat": "2", "duck": "3"]))
    }

    @Test("A merged array contains the additions of both sides and none of the elements that either side has removed")
    func g16() {
        let merged = ThreeWayMerge.array(
            original: ["alice", "bob"],
            local: ["bob", "carol"],
            remote: ["alice", "dave"]
        )
        #expect(Set(merged) == ["carol", "dave"] && merged.count == 2)
    }

    @Test("An element that both sides have added appears once more in the merged array, not twice") func g17() {
        #expect(
            ThreeWayMerge.array(original: ["alice"], local: ["alice", "alice"], remote: ["alice", "alice"])
                == ["alice", "alice"]
        )
    }

    @Test("If one side removes one of two equal elements, the other element stays") func g18() {
        let merged = ThreeWayMerge.array(
            original: ["alice", "alice"],
            local: ["alice", "alice", "bob"],
            remote: ["alice", "bob"]
        )
        #expect(merged.sorted() == ["alice", "bob"])
    }

    @Test("Merged small arrays have the same counts from either side, and keep elements that no side has changed")
    func smallArrays() {
        let samples = [
            [], ["a"], ["b"], ["a", "b"], ["b", "a"], ["a", "a"], ["a", "b", "a"], ["b", "c"], ["c", "a", "b"],
        ]
        for original in samples {
            for local in samples {
                #expect(ThreeWayMerge.array(original: original, local: local, remote: original) == local)
                #expect(ThreeWayMerge.array(original: original, local: original, remote: local) == local)
                for remote in samples {
                    let one = ThreeWayMerge.array(original: original, local: local, remote: remote)
                    let other = ThreeWayMerge.array(original: original, local: remote, remote: local)
                    #expect(one.sorted() == other.sorted(), "\(original) \(local) \(remote)")
                }
            }
        }
    }

    @Test("Numbers are unchanged by a round trip")
    func numberRoundTrip() throws {
        let numbers: [String: Double] = ["a": 0.1, "b": 1e300, "c": -1e-300, "d": 123_456_789.123456789]
        var local = numbers
        local["new"] = 1
        var remote = numbers
        remote["other"] = 2
        let merged = try ThreeWayMerge.record(original: numbers, local: local, remote: remote)
        #expect(merged == numbers.merging(["new": 1, "other": 2]) { $1 })
        let exact = try #require(Decimal(string: "12345678901234567890.1234567890123"))
        var record = Record(string: "x", decimal: exact)
        record = try merge(record) {
            $0.int = 1
        } _: {
            $0.string = "y"
        }
        #expect(record.decimal == exact && record.int == 1 && record.string == "y")
        #expect(try ThreeWayMerge.record(original: UInt64.max, local: UInt64.max, remote: 3) == 3)
    }
}
