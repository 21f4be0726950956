import Foundation
import Strata
import StrataCloud

/// A profile of the files that the tools of AWS share: `~/.aws/credentials` and `~/.aws/config`, or where `AWS_SHARED_CREDENTIALS_FILE`
/// and `AWS_CONFIG_FILE` say. The format is that of the chapter "Configuration and credential file settings" of the CLI's User Guide.
struct S3Profile {
    /// What both files say of it; the first wins.
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

    /// What the sections of a file say; nothing where it cannot be read.
    private static func sections(of file: URL) -> [UTF8Text: [UTF8Text: String]] {
        guard let data = try? Data(contentsOf: file) else { return [:] }
        var sections: [UTF8Text: [UTF8Text: String]] = [:]
        var current: String?
        let lines = String(decoding: data, as: UTF8.self).split(atBytes: "\n").flatMap { $0.split(atBytes: "\r") }
        for line in lines {
            // Indented lines belong to a setting that has others below it, none of which is of interest here.
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
