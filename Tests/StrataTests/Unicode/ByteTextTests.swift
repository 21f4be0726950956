import Foundation
import StoreModels
import Testing

@testable import Strata

/// Compares the functions that compare and split texts with a model that uses arrays of bytes.
@Suite("Comparing texts by their bytes")
struct ByteTextTests {
    @Test("Comparing and splitting agree with arrays of bytes")
    func model() throws {
        let seed = SeededGenerator.seed
        var generator = SeededGenerator(seed: seed)
        let texts = OddTexts.draw(150, using: &generator)
        for left in texts {
            let bytes = Array(left.utf8)
            for right in texts {
                let other = Array(right.utf8)
                #expect(left.hasSameBytes(as: right) == (bytes == other), "seed \(seed)")
                #expect(left[...].hasSameBytes(as: right) == (bytes == other), "seed \(seed)")
                #expect(left.precedesByBytes(right) == bytes.lexicographicallyPrecedes(other), "seed \(seed)")
                #expect(left.hasBytePrefix(right) == bytes.starts(with: other), "seed \(seed)")
                #expect(left.hasByteSuffix(right) == (bytes.suffix(other.count) == other[...]), "seed \(seed)")
                #expect((UTF8Text(left) == UTF8Text(right)) == (bytes == other), "seed \(seed)")
                #expect((StoredValue.text(left) == .text(right)) == (bytes == other), "seed \(seed)")
                #expect(Optional(left).hasSameBytes(as: right) == (bytes == other), "seed \(seed)")
            }
            for separator in ["/", ":", "-", " ", "\n"] as [Unicode.Scalar] {
                let byte = UInt8(ascii: separator)
                for omitsEmpty in [false, true] {
                    let parts = bytes.split(separator: byte, omittingEmptySubsequences: omitsEmpty).map { Array($0) }
                    let split = left.split(atBytes: separator, omitsEmpty: omitsEmpty)
                    #expect(split.map { Array($0.utf8) } == parts, "seed \(seed)")
                }
                #expect(left.containsByte(of: separator) == bytes.contains(byte), "seed \(seed)")
                let (first, last) = (bytes.firstIndex(of: byte), bytes.lastIndex(of: byte))
                #expect(
                    (left.splitAtFirst(separator)?.before).map { Array($0.utf8) } == first.map { Array(bytes[..<$0]) }
                )
                #expect(
                    (left.splitAtLast(separator)?.before).map { Array($0.utf8) } == last.map { Array(bytes[..<$0]) }
                )
                #expect(
                    (left.splitAtLast(separator)?.after).map { Array($0.utf8) }
                        == last.map { Array(bytes[($0 + 1)...]) }
                )
            }
        }
        let keys = Set(texts.map { UTF8Text($0) })
        #expect(keys.count == Set(texts.map { Array($0.utf8) }).count, "seed \(seed)")
        #expect(Set(texts.map { StoredValue.text($0) }).count == keys.count, "seed \(seed)")
        let sorted = texts.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
        #expect(texts.sortedByBytes().map { Array($0.utf8) } == sorted, "seed \(seed)")
        #expect(texts.map { UTF8Text($0) }.sorted().map { Array($0.string.utf8) } == sorted, "seed \(seed)")
    }

    @Test("Equal texts have the same hash, however they are stored")
    func hashes() {
        // A substring of a large text is stored in another way than a separate text.
        let text = String(repeating: "caf\u{e9}", count: 100)
        #expect(Set([UTF8Text(text), UTF8Text(String(text.dropLast(0)))]).count == 1)
    }

    @Test("A dictionary of texts is an object in JSON, and a text is a value")
    func coding() throws {
        let object: [UTF8Text: UTF8Text] = ["a": "caf\u{e9}", "b": "cafe\u{301}"]
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let json = try encoder.encode(object)
        #expect(String(decoding: json, as: UTF8.self) == #"{"a":"caf\#u{e9}","b":"cafe\#u{301}"}"#)
        #expect(try JSONDecoder().decode([UTF8Text: UTF8Text].self, from: json) == object)
    }

    @Test("Texts stored as JSON are equal if their contents are, in any order of sets")
    func sameValues() {
        struct Tag: Codable, Hashable, AttributeValue { var names: Set<String> }
        let names = (0..<50).map { "\u{e9}\($0)" }
        var (one, two) = (Tag(names: []), Tag(names: Set(minimumCapacity: 500)))
        for name in names { one.names.insert(name) }
        for name in names.reversed() { two.names.insert(name) }
        #expect(Tag.isSame(one, two))
        two.names.remove("\u{e9}7")
        two.names.insert("e\u{301}7")
        #expect(one == two && !Tag.isSame(one, two))
    }
}
