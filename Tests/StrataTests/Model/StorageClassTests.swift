import Foundation
import TestHomeTraits
import Testing

@testable import Strata

enum SampleGrade: Int, AttributeValue { case first, second }

@Model final class StoredSample {
    var i: Int = 7
    var long: Int64 = 7
    var i8: Int8 = 7
    var d: Double = 7
    var f: Float = 7
    var b: Bool = true
    var s: String = "x"
    var date: Date = Date(timeIntervalSinceReferenceDate: 7)
    var data: Data = Data([1])
    var uuid: UUID = UUID()
    var dec: Decimal = 7
    var e: SampleGrade = SampleGrade.second
    var u: UInt64 = 7
    var url: URL = URL(string: "https://x.y")!
    var oi: Int?
    var ol: Int64?
    var od: Double?
    var os: String?
    var ob: Bool?
    var odate: Date?
    var sample: StoredSample?
}

@Suite(
    "Values whose storage class differs from that of their attribute",
    .aboutTheFile("changes rows of the file from outside"),
    .timeLimit(.minutes(2))
)
struct StorageClassTests {
    private func make(_ folder: ScratchFolder, _ assignment: String? = nil) async throws -> ContextStack {
        let url = folder.file("samples-\(UUID()).sqlite")
        try await folder.with(url, [StoredSample.self]) { context in
            context.insert(StoredSample())
            try context.commit()
        }
        if let assignment { try folder.sql(url, "UPDATE StoredSample SET \(assignment)") }
        return try await ContextStack.open(.sqlite(url), models: [StoredSample.self], stack: .rootOnly)
    }

    @Test(
        "Such values are reported with object and column, for every type and every way of reading",
        arguments: [
            ("i", ["'abc'", "1.5", "x'01'", "9.3e18"]), ("long", ["'abc'", "1.5", "x'01'"]),
            ("i8", ["'abc'", "300", "1.5"]), ("d", ["'abc'", "x'01'"]), ("f", ["'abc'", "1e300"]),
            ("b", ["2", "-1", "'true'", "0.5"]), ("s", ["x'ff'", "x'6162'"]), ("date", ["'2020-01-01'", "x'01'"]),
            ("data", ["'text'", "5"]), ("uuid", ["x'01'", "'abc'", "5"]), ("dec", ["'abc'", "x'01'"]),
            ("e", ["5", "'one'", "1.5"]), ("u", ["-1", "'abc'", "x'00'"]), ("url", ["''", "x'01'"]),
            ("oi", ["'abc'", "1.5"]), ("ol", ["'abc'", "x'01'"]), ("od", ["'abc'", "x'01'"]), ("os", ["x'01'"]),
            ("ob", ["2", "'abc'"]), ("odate", ["'abc'"]), ("sample", ["'abc'", "1.5", "x'01'", "-1"]),
        ]
    )
    func refusals(column: String, values: [String]) async throws {
        let folder = try ScratchFolder()
        for value in values {
            let stack = try await make(folder, "\(column) = \(value)")
            try await stack.background { context in
                func check(_ way: String, _ read: () throws -> Void) {
                    do {
                        try read()
                        Issue.record("\(way) was read with \(column) = \(value)")
                    } catch let error as StrataError {
                        #expect(error.code == .undecodable, "\(way): \(error)")
                        #expect(error.details.first?.column == column && error.details.first?.id == 1, "\(error)")
                    } catch {
                        Issue.record(error)
                    }
                }
                check("an object") { _ = try context.fetch(StoredSample.all) }
                check("a row") { _ = try context.rows(StoredSample.all) }
                check("by its id") {
                    _ = try context.find(ObjectID<StoredSample>(rawValue: 1, fingerprint: stack.fingerprint))
                }
            }
            let error = await #expect(throws: StrataError.self) {
                for try await _ in stack.jsonLines() {}
            }
            #expect(error?.code == .undecodable && error?.details.first?.column == column)
            try await stack.close()
        }
    }

    @Test("Columns and raw SQL follow the same rule")
    func columns() async throws {
        let folder = try ScratchFolder()
        let stack = try await make(folder, "i = 1.5, b = 2, s = x'6162', d = 'abc'")
        try await stack.background { context in
            func check(_ read: () throws -> Void) {
                do {
                    try read()
                    Issue.record("a value of another class was read")
                } catch {
                    #expect((error as? StrataError)?.code == .undecodable, "\(error)")
                }
            }
            check { _ = try context.column(StoredSample.all, \.i) }
            check { _ = try context.column(StoredSample.all, \.b) }
            check { _ = try context.column(StoredSample.all, \.s) }
            check { _ = try context.column(StoredSample.all, \.d) }
            let row = try #require(try context.rows("SELECT i, b, s, d FROM \(StoredSample.self) AS x").first)
            check { _ = try row.value(Int.self, "i") }
            check { _ = try row.value(Bool.self, "b") }
            check { _ = try row.value(String.self, "s") }
            check { _ = try row.value(Double.self, "d") }
        }
        try await stack.close()
    }

    @Test("SQLite converts values by the column's type when they are written")
    func affinity() async throws {
        let folder = try ScratchFolder()
        let stack = try await make(folder, "i = '12', d = 5, s = 1.5, b = '1', e = 1.0, date = 5, od = 3, odate = '4'")
        try await stack.background { context in
            let sample = try #require(try context.first(StoredSample.all))
            #expect(sample.i == 12 && sample.d == 5 && sample.s == "1.5" && sample.b && sample.e == .second)
            #expect(sample.date == Date(timeIntervalSinceReferenceDate: 5) && sample.od == 3)
            #expect(sample.odate == Date(timeIntervalSinceReferenceDate: 4))
        }
        try await stack.close()
    }

    @Test("-0.0 is stored as 0.0, and causes neither a change nor a conflict")
    func negativeZero() async throws {
        let folder = try ScratchFolder()
        let stack = try await make(folder, "d = 0, f = 0")
        try await stack.background { context in
            let sample = try #require(try context.first(StoredSample.all))
            (sample.d, sample.f) = (-0.0, -0.0)
            #expect(!context.hasChanges)
            sample.d = 1
            try context.commit()
            sample.d = -0.0
            try context.commit()
            sample.d = 2
            try context.commit()
        }
        #expect(try await stack.background { try $0.column(StoredSample.all, \.d) } == [2])
        try await stack.close()
    }
}
