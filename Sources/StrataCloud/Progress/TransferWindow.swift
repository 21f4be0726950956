import Foundation

/// The bytes of the last seconds, by what they are of: whole seconds one by one, so that it stays small whatever passes.
struct TransferWindow: Sendable {
    /// Of what bytes are.
    struct Source: Hashable, Sendable {
        let direction: TransferDirection
        var node: Int64
    }

    private struct Second: Sendable {
        let number: Int64
        var bytes: [Source: Int64] = [:]
    }

    /// How many seconds count.
    static let length: Int64 = 10

    private var seconds: [Second] = []
    /// When the first transfer began, behind a pause in which there was none.
    private var beginnings: [TransferDirection: Date] = [:]

    private static func number(_ date: Date) -> Int64 { Int64(date.timeIntervalSinceReferenceDate.rounded(.down)) }

    /// Notes that a transfer begins, and whether it is the only one of its direction.
    mutating func begin(_ direction: TransferDirection, isFirst: Bool, at date: Date) {
        forget(before: date)
        guard isFirst, !seconds.contains(where: { $0.bytes.keys.contains { $0.direction == direction } }) else {
            return
        }
        beginnings[direction] = date
    }

    mutating func add(_ bytes: Int64, of source: Source, at date: Date) {
        forget(before: date)
        let number = Self.number(date)
        // A clock that was set back goes on in the newest second.
        if seconds.last.map({ $0.number < number }) ?? true { seconds.append(Second(number: number)) }
        seconds[seconds.count - 1].bytes[source, default: 0] += bytes
    }

    /// The nodes of which bytes have passed.
    var nodes: Set<Int64> { Set(seconds.flatMap { $0.bytes.keys.map(\.node) }) }

    private mutating func forget(before date: Date) {
        let oldest = Self.number(date) - Self.length
        // Of one that was set back by more, nothing is left that lies in what is the future now.
        seconds.removeAll { $0.number <= oldest || $0.number > Self.number(date) + 1 }
    }

    /// The bytes a second of those sources that are wanted. A beginning of less than a second counts as one.
    func throughput(_ direction: TransferDirection, at date: Date, _ isWanted: (Int64) -> Bool) -> Double {
        let oldest = Self.number(date) - Self.length
        var bytes: Int64 = 0
        for second in seconds where second.number > oldest {
            for (source, count) in second.bytes where source.direction == direction && isWanted(source.node) {
                bytes += count
            }
        }
        guard bytes > 0 else { return 0 }
        let windowed = Date(timeIntervalSinceReferenceDate: Double(oldest + 1))
        let begin = max(windowed, beginnings[direction] ?? windowed)
        return Double(bytes) / max(1, date.timeIntervalSince(begin))
    }
}
