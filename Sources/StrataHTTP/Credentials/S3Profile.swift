import Foundation
import Strata
import StrataRemotes

/// A profile of the shared AWS files.
///
/// The files are `~/.aws/credentials` and `~/.aws/config`, or the paths in `AWS_SHARED_CREDENTIALS_FILE` and
/// `AWS_CONFIG_FILE`. The chapter "Configuration and credential file settings" of the AWS CLI User Guide defines the
/// format.
struct S3Profile {
    /// The profile's settings in both files. The credentials file takes precedence.
    private let values: [UTF8Text: String]

    init(_ name: String?, environment: [String: String]) {
        let name = name ?? environment["AWS_PROFILE"].flatMap { $0.isEmpty ? nil : $0 } ?? "default"
        let home = environment["HOME"].map { URL(filePath: $0) } ?? FileManager.default.homeDirectoryForCurrentUser
        func file(_ variable: String, _ usual: String) -> URL {
            guard let path = environment[variable], !path.isEmpty else { return home.appending(path: ".aws/\(usual)") }
            return path.hasBytePrefix("~/") ? home.appending(path: path.droppingFirstBytes(2)) : URL(filePath: path)
        }
        let credentials = Self.sections(of: file("AWS_SHARED_CREDENTIALS_FILE", "credentials"))[UTF8Text(name)] ?? [:]
        let configuration = Self.sections(of: file("AWS_CONFIG_FILE", "config"))
        let section = UTF8Text("profile \(name)")
        let own = configuration[name == "default" ? UTF8Text(name) : section] ?? configuration[section] ?? [:]
        values = credentials.merging(own) { first, _ in first }
    }

    subscript(name: String) -> String? { values[UTF8Text(name)].flatMap { $0.isEmpty ? nil : $0 } }

    /// Returns the settings of all sections of a file. Empty if the file cannot be read.
    private static func sections(of file: URL) -> [UTF8Text: [UTF8Text: String]] {
        guard let data = try? Data(contentsOf: file) else { return [:] }
        var sections: [UTF8Text: [UTF8Text: String]] = [:]
        var current: String?
        let lines = String(decoding: data, as: UTF8.self).split(atBytes: "\n").flatMap { $0.split(atBytes: "\r") }
        for line in lines {
            // Indented lines are nested settings, and none of them is needed here.
            guard let first = line.unicodeScalars.first, !first.properties.isWhitespace, first != "#", first != ";"
            else { continue }
            if first == "[" {
                let name = line.droppingFirstBytes(1)
                let words = (name.splitAtFirst("]")?.before ?? name).split(atBytes: "\t").flatMap {
                    $0.split(atBytes: " ")
                }
                current = words.joined(separator: " ")
            } else if let current, let (before, after) = line.splitAtFirst("=") {
                let name = before.trimmingCharacters(in: .whitespaces).lowercased()
                sections[UTF8Text(current), default: [:]][UTF8Text(name)] = after.trimmingCharacters(in: .whitespaces)
            }
        }
        return sections
    }
}
