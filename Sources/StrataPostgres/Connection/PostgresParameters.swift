import CStrataPostgres
import Foundation
import Strata

/// The parameters of a statement, in PostgreSQL's binary format.
struct PostgresParameters: Sendable {
    private(set) var types: [Oid] = []
    private var ranges: [Range<Int>] = []
    // The first byte belongs to no value. So an empty value has an address too: libpq takes no address for NULL.
    private var bytes: [UInt8] = [0]

    var byteCount: Int { bytes.count }

    mutating func append(_ integer: Int64) {
        append(PostgresType.integer) { $0.append(bigEndian: integer) }
    }

    mutating func append(_ real: Double) {
        append(PostgresType.real) { $0.append(bigEndian: real.bitPattern) }
    }

    mutating func append(_ text: String) {
        append(PostgresType.text) { $0.append(contentsOf: text.utf8) }
    }

    mutating func append(_ data: Data) {
        append(PostgresType.bytes) { $0.append(contentsOf: data) }
    }

    mutating func append(_ id: UUID) {
        append(PostgresType.uuid) { bytes in
            Swift.withUnsafeBytes(of: id.uuid) { bytes.append(contentsOf: $0) }
        }
    }

    mutating func append(_ time: Date) {
        append(PostgresType.timestamp) { $0.append(bigEndian: time.postgresMicroseconds) }
    }

    mutating func append(_ array: PostgresArray) {
        append(array.type) { array.write(to: &$0) }
    }

    private mutating func append(_ type: Oid, _ write: (inout [UInt8]) -> Void) {
        let start = bytes.count
        write(&bytes)
        types.append(type)
        ranges.append(start..<bytes.count)
    }

    /// Calls a function with the arrays that libpq takes. The addresses are valid during the call.
    func withPointers<Result>(
        _ body: (_ values: [UnsafePointer<CChar>?], _ lengths: [Int32], _ formats: [Int32]) -> Result
    ) -> Result {
        bytes.withUnsafeBytes { buffer in
            let values = ranges.map { range in
                buffer.baseAddress?.advanced(by: range.lowerBound).assumingMemoryBound(to: CChar.self)
            }
            return body(values, ranges.map { Int32($0.count) }, ranges.map { _ in 1 })
        }
    }
}

extension [UInt8] {
    /// Appends an integer in the byte order of the network.
    mutating func append(bigEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }
}

extension Date {
    /// The seconds between 2000, where PostgreSQL's times begin, and 2001, where those of Foundation begin.
    private static let secondsIn2000: TimeInterval = 366 * 86_400

    /// The microseconds since 2000. Times that PostgreSQL cannot have become the first or the last.
    fileprivate var postgresMicroseconds: Int64 {
        let microseconds = ((timeIntervalSinceReferenceDate + Self.secondsIn2000) * 1_000_000).rounded()
        // The years -4713 and 293535. A time that is not a number becomes the first.
        return Int64(max(-211_813_488_000_000_000, min(microseconds, 9_200_000_000_000_000_000)))
    }

    /// - Parameter postgresMicroseconds: the microseconds since 2000.
    init(postgresMicroseconds: Int64) {
        self.init(timeIntervalSinceReferenceDate: Double(postgresMicroseconds) / 1_000_000 - Self.secondsIn2000)
    }
}
