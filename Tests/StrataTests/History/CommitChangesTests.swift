import Foundation
import Testing

@testable import Strata

@Suite("The stored form of a commit's changes") struct CommitChangesTests {
    static func sample(_ generator: inout SeededGenerator) -> CommitChanges {
        func runs() -> IDRanges {
            let count = Int.random(in: 0...12, using: &generator)
            return IDRanges((0..<count).map { _ in Int64.random(in: 1...40, using: &generator) })
        }
        var changes = CommitChanges()
        for index in 0..<Int.random(in: 0...3, using: &generator) {
            var table = TableChanges(inserted: runs(), deleted: runs())
            for columns in [["a"], ["a", "ü"], []] where Bool.random(using: &generator) {
                table.updated[columns] = runs()
            }
            changes.tables["table \(index)"] = table
        }
        return changes
    }

    @Test("Encoded changes decode to the same changes")
    func roundTrip() throws {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<500 {
            let changes = Self.sample(&generator)
            #expect(CommitChanges(encoded: changes.encoded) == changes)
        }
    }

    @Test("Damaged bytes decode to nil or to other changes, and never end the program")
    func damage() {
        var generator = SeededGenerator(seed: 8)
        for _ in 0..<200 {
            let bytes = Self.sample(&generator).encoded
            for count in 0..<bytes.count { #expect(CommitChanges(encoded: bytes.prefix(count)) == nil) }
            for index in bytes.indices {
                var damaged = bytes
                damaged[index] = UInt8.random(in: 0...255, using: &generator)
                _ = CommitChanges(encoded: damaged)
            }
            #expect(CommitChanges(encoded: bytes + [0]) == nil)
        }
        let endless: [UInt8] = [1, 1, 1, 65, 1, 1, 255, 255, 255, 255, 255, 255, 127, 0, 0]
        #expect(CommitChanges(encoded: Data(endless)) == nil)
    }

    @Test("Consecutive numbers take a few bytes, however many there are")
    func size() {
        let many = CommitChanges(tables: ["Article": TableChanges(inserted: IDRanges(1...1_000_000))])
        #expect(many.encoded.count < 20)
    }

    @Test("Runs of numbers behave like sets")
    func runs() {
        var generator = SeededGenerator(seed: 9)
        for _ in 0..<300 {
            let left = Set((0..<20).map { _ in Int64.random(in: 1...60, using: &generator) })
            let right = Set((0..<20).map { _ in Int64.random(in: 1...60, using: &generator) })
            let (leftRuns, rightRuns) = (IDRanges(left), IDRanges(right))
            #expect(Array(leftRuns) == left.sorted())
            #expect(leftRuns.count == left.count)
            #expect(leftRuns.union(rightRuns) == IDRanges(left.union(right)))
            #expect(IDRanges.union(of: [leftRuns, rightRuns, leftRuns]) == IDRanges(left.union(right)))
            for offset in 0...22 {
                #expect(leftRuns.ids(from: offset, limit: 3) == Array(left.sorted().dropFirst(offset).prefix(3)))
            }
            #expect(leftRuns.subtracting(rightRuns) == IDRanges(left.subtracting(right)))
            #expect(IDRanges(Array(left) + Array(right) + Array(left)) == IDRanges(left.union(right)))
            for number in Int64(0)...61 { #expect(leftRuns.contains(number) == left.contains(number)) }
        }
    }
}
