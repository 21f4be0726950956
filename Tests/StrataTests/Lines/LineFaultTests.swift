import Foundation
import Testing

@testable import Strata

@Suite("Lines of long values and unusual ones", .timeLimit(.minutes(2)))
struct LineFaultTests {
    @Test("a line of any length is read once", .timeLimit(.minutes(1)))
    func longLine() throws {
        let folder = try ScratchFolder()
        let url = folder.file("long.jsonl")
        try Data("first\n".utf8).write(to: url)
        // Zeros that take no place on the disk. To copy what was read for each piece of it would take minutes.
        #expect(truncate(url.path, 256 << 20) == 0)
        var reader = try LineReader(url)
        #expect(try reader.next() == Data("first".utf8))
        #expect(try reader.next()?.count == 256 << 20 - 6)
        #expect(try reader.next() == nil)
    }
}
