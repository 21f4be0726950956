import Foundation
import Strata
import StrataInspection
import StrataPipeline

/// The lanes of a pipeline.
extension PipelinePage {
    /// The greatest number of wait reasons, and of characters of them, in a row.
    private static let reasonLimit = 3
    private static let reasonLength = 400

    func blocked(_ lanes: [LaneRow], _ request: ConsoleRequest) -> Table {
        var table = table("Blocked lanes", lanes, request)
        table.whenEmpty = "No lane is blocked by a failed or held operation."
        return table
    }

    /// A page of the lanes.
    ///
    /// - Parameter lanes: the lanes of the page, and one more if there are further ones.
    func lanes(of name: String, after: String?, _ lanes: [LaneRow], _ request: ConsoleRequest) -> Table {
        var table = table("Lanes", lanes.prefix(Self.laneLimit), request)
        table.whenEmpty = "No operation is queued here."
        table.pager = pager(name, after: after, lanes, request)
        return table
    }

    private func table(_ caption: String, _ lanes: some Sequence<LaneRow>, _ request: ConsoleRequest) -> Table {
        var table = Table(
            caption,
            ["Lane", "First operation", "Status", "Waits because", "Since"],
            numbers: ["Queued"],
            ["Rate limit of the lane"]
        )
        for lane in lanes { table.add(row(lane, request)) }
        return table
    }

    private func row(_ lane: LaneRow, _ request: ConsoleRequest) -> [Cell] {
        var name = Cell.text(lane.name)
        if lane.name.utf8.isEmpty { name.note = "without a name" }
        let isLong = lane.count >= LaneRow.countLimit
        return [
            name, Self.head(lane, request), Self.status(lane), Self.reasons(lane, request),
            .age(of: lane.since, at: request.time),
            isLong ? Cell.text("\(LaneRow.countLimit) or more") : Cell.number(lane.count), Self.bucket(lane.bucket),
        ]
    }

    private static func head(_ lane: LaneRow, _ request: ConsoleRequest) -> Cell {
        guard let head = lane.head else {
            return .text("none of the first \(LaneRow.failedLimit), which have failed")
        }
        var cell = Cell.text(head.type, href: request.address(ofOperation: head.id))
        cell.note = "\(head.id)"
        return cell
    }

    private static func status(_ lane: LaneRow) -> Cell {
        guard let head = lane.head else { return .text("-") }
        return .mark(head.status, Mark.kind(ofStatus: head.status))
    }

    private static func reasons(_ lane: LaneRow, _ request: ConsoleRequest) -> Cell {
        if let problem = lane.problem { return .text(problem, to: reasonLength) }
        if lane.waitReasons.isEmpty { return .text("-") }
        let rest = lane.waitReasons.count - reasonLimit
        let shown = lane.waitReasons.prefix(reasonLimit).map { ViewText.line($0.text) }
        let text = (shown + (rest > 0 ? ["\(rest) more"] : [])).joined(separator: "; ")
        let other = lane.waitReasons.prefix(reasonLimit).compactMap(\.operation).first
        return .text(text, href: other.flatMap { request.address(ofOperation: $0) }, to: reasonLength)
    }

    /// The starts that the tokens of a bucket allow. Another program may have stored any number, and infinite ones can
    /// give one that is not a number.
    static func starts(_ tokens: Double) -> Int { tokens > 0 ? Int(min(tokens, 1e15)) : 0 }

    private static func bucket(_ bucket: LaneRow.Bucket?) -> Cell {
        guard let bucket else { return .text("-") }
        let tokens = starts(bucket.tokens)
        if tokens == 0, let date = bucket.opensAt {
            return .mark("closed", Mark.warning, note: "until \(Timestamp.text(date) ?? "-")")
        }
        return .text("\(tokens) of \(bucket.capacity) starts left")
    }

    private func pager(_ name: String, after: String?, _ lanes: [LaneRow], _ request: ConsoleRequest) -> Pager {
        let last = lanes.prefix(Self.laneLimit).last?.name
        let hasMore = lanes.count > Self.laneLimit
        let next = hasMore ? last.flatMap { request.link(Self.pathText, ["pipeline": name, "after": $0]) } : nil
        return Pager(
            first: after == nil ? nil : request.address(ofPipeline: name),
            next: next,
            firstTitle: "First lanes",
            nextTitle: "Further lanes",
            note: hasMore && next == nil ? "There are further lanes, but a name is too long for an address." : nil
        )
    }
}
