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
            throw LineSource.unwritable(url, error)
        }
    }

    /// - Throws: as the initialiser.
    func add(_ line: String) throws {
        do { try file.write(contentsOf: Data((line + "\n").utf8)) } catch { throw LineSource.unwritable(url, error) }
    }

    func close() { try? file.close() }
}
