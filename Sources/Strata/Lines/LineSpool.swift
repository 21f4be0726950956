import Foundation

/// A file in which lines are kept until all of them are there.
struct LineSpool {
    private let url: URL
    private let file: FileHandle

    /// - Throws: ``StrataError`` with `cannotOpen`.
    init(_ url: URL) throws {
        self.url = url
        do {
            try Data().write(to: url)
            file = try FileHandle(forWritingTo: url)
        } catch {
            throw Self.unwritable(url, error)
        }
    }

    /// - Throws: as the initialiser.
    func add(_ line: String) throws {
        do { try file.write(contentsOf: Data((line + "\n").utf8)) } catch { throw Self.unwritable(url, error) }
    }

    func close() { try? file.close() }

    static func unwritable(_ url: URL, _ error: any Error) -> StrataError {
        StrataError(
            .cannotOpen,
            "The lines could not be written to \(url.path). Check the path, the permissions and the space.",
            underlying: error
        )
    }
}
