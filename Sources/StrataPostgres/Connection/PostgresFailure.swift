import Foundation
import Strata

/// A failure of a connection to PostgreSQL.
struct PostgresFailure: Error, Sendable, CustomStringConvertible {
    enum Kind: Sendable, Hashable {
        /// No connection could be made, or the connection was lost.
        case connection
        /// The server did not answer before the deadline.
        case timeout
        /// The server refused a statement, with this SQLSTATE.
        case server(sqlState: String)
        /// The answer has another form than Strata expects.
        case format
    }

    let kind: Kind
    /// The text of libpq or of the server, in one line. Contains no password.
    let message: String
    /// The index of the statement of the pipeline that the server refused; nil if it has refused none.
    var refusedStatement: Int?
    /// The number of statements of the pipeline that the server may have received.
    var sentStatements = 0
    /// Whether the server, or a pooler, has given the error a severity with which it ends the session.
    var isFatal = false
    /// Whether a server answered while the connection was made, which then failed: the server has refused the user, for
    /// example, or the client the certificate. libpq gives no code for such failures.
    var isAnswered = false

    init(_ kind: Kind, _ message: String, refusedStatement: Int? = nil) {
        self.kind = kind
        var parts: [(line: String, hints: [String])] = []
        for line in message.split(atBytes: "\n").map({ $0.trimmingCharacters(in: .whitespacesAndNewlines) }) {
            if line.isEmpty { continue }
            // libpq has one such line for each attempt. The lines after it are hints.
            if parts.isEmpty || line.hasBytePrefix("connection to server") {
                // The line becomes a part of a sentence.
                parts.append((line.hasByteSuffix(".") ? String(line.dropLast()) : line, []))
            } else {
                parts[parts.count - 1].hints.append(line)
            }
        }
        self.message = parts.map { line, hints in
            hints.isEmpty ? line : "\(line) (\(hints.joined(separator: " ")))"
        }
        .joined(separator: "; ")
        self.refusedStatement = refusedStatement
    }

    /// The server's code of the error, from appendix A of the manual of PostgreSQL; nil for an error of the connection.
    var sqlState: String? {
        if case .server(let sqlState) = kind { sqlState } else { nil }
    }

    /// Whether the connection or its session on the server has ended.
    ///
    /// Such a failure is not the answer to a statement. A pooler that loses its server sends one in the place of the
    /// first answer that it has not received, although the server may have run all statements.
    var endsSession: Bool {
        switch kind {
        case .connection: true
        case .timeout, .format: false
        case .server(let state):
            // 08: connection exceptions. 57P: shutdown, crash, start. 25P03 to 25P05: the server has ended an idle or a
            // long transaction. Poolers have other codes as well.
            isFatal || state.hasBytePrefix("08") || state.hasBytePrefix("57P") || state.hasBytePrefix("25P03")
                || state.hasBytePrefix("25P04") || state.hasBytePrefix("25P05")
        }
    }

    /// Whether a new connection may work: the session has ended, or the server does not accept writes, because it is a
    /// standby.
    var isLoss: Bool { endsSession || sqlState?.hasSameBytes(as: "25006") == true }

    var description: String { sqlState.map { "\(message) (SQLSTATE \($0))" } ?? message }

    /// The same failure, with the number of statements that the server may have received.
    func havingSent(_ count: Int) -> PostgresFailure {
        var failure = self
        failure.sentStatements = count
        return failure
    }
}
