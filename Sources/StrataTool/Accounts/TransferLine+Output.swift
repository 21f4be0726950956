import Strata
import StrataCloud
import StrataInspection

extension TransferLine {
    static func table(of lines: [TransferLine]) -> TextTable {
        var table = TextTable(["account", "direction", "state", "node", "sections", "done", "bytes", "attempts"])
        for line in lines {
            table.add([
                .text(line.account), .text(line.direction), .text(line.state),
                .text(line.path ?? "(deleted node \(line.node))"), .text(line.sections.description),
                .number(line.bytesDone), .number(line.bytesTotal), .number(line.attempts),
            ])
        }
        return table
    }

    var json: JSON {
        .object([
            ("account", .text(account)),
            ("direction", .text(direction)),
            ("state", .text(state)),
            ("node", .integer(node)),
            ("path", .orNull(path)),
            ("sections", .sections(sections)),
            ("operation", .orNull(operation)),
            ("attempts", .orNull(attempts)),
            ("startedAt", .time(startedAt)),
            ("progress", .orNull(progress)),
            ("bytesDone", .orNull(bytesDone)),
            ("bytesTotal", .orNull(bytesTotal)),
        ])
    }
}
