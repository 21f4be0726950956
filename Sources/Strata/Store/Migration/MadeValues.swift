import CStrataSQLite
import Foundation

/// Provides SQLite with default values that differ for each row, such as a fresh UUID.
final class MadeValues {
    private let connection: Connection
    private var makers: [@Sendable () throws -> StoredValue] = []

    /// Registers the function, which remains registered until ``end()``.
    init(on connection: Connection) throws {
        self.connection = connection
        let place = Unmanaged.passUnretained(self).toOpaque()
        let code = sqlite3_create_function_v2(
            connection.pointer,
            Self.name,
            1,
            SQLITE_UTF8,
            place,
            { call, _, values in
                guard let place = sqlite3_user_data(call), let values else { return }
                Unmanaged<MadeValues>.fromOpaque(place).takeUnretainedValue()
                    .give(Int(sqlite3_value_int(values[0])), to: call)
            },
            nil,
            nil,
            nil
        )
        try SQLFunctions.check(code, Self.name)
    }

    private static let name = "strata_made"

    func end() { sqlite3_create_function_v2(connection.pointer, Self.name, 1, SQLITE_UTF8, nil, nil, nil, nil, nil) }

    /// The SQL expression for a value that is created for each row.
    func expression(_ make: @escaping @Sendable () throws -> StoredValue) -> String {
        makers.append(make)
        return "\(Self.name)(\(makers.count - 1))"
    }

    private func give(_ index: Int, to call: OpaquePointer?) {
        do {
            SQLFunctions.give(try makers[index](), to: call)
        } catch {
            sqlite3_result_error(call, "\(error)", -1)
        }
    }
}
