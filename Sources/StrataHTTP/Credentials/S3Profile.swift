import Foundation
import StrataCloud

/// A profile of the files that the tools of AWS share: `~/.aws/credentials` and `~/.aws/config`, or where `AWS_SHARED_CREDENTIALS_FILE`
/// and `AWS_CONFIG_FILE` say. The format is that of the chapter "Configuration and credential file settings" of the CLI's User Guide.
struct S3Profile {
    /// What both files say of it; the first wins.
    private let values: [String: String]

    init(_ name: String?, environment: [String: String]) {
        let name = name ?? environment["AWS_PROFILE"].flatMap { $0.isEmpty ? nil : $0 } ?? "default"
        let home = environment["HOME"].map { URL(filePath: $0) } ?? FileManager.default.homeDirectoryForCurrentUser
        func file(_ variable: String, _ usual: String) -> URL {
            guard let path = environment[variable], !path.isEmpty else { return home.appending(path: ".aws/\(usual)") }
            return path.hasPrefix("~/") ? home.appending(path: String(path.dropFirst(2))) : URL(filePath: path)
        }
        let credentials = Self.sections(of: file("AWS_SHARED_CREDENTIALS_FILE", "credentials"))[name] ?? [:]
        let configuration = Self.sections(of: file("AWS_CONFIG_FILE", "config"))
        let own = configuration[name == "default" ? name : "profile \(name)"] ?? configuration["profile \(name)"] ?? [:]
        values = credentials.merging(own) { first, _ in first }
    }

    subscript(name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// What the sections of a file say; nothing where it cannot be read.
    private static func sections(of file: URL) -> [String: [String: String]] {
        guard let data = try? Data(contentsOf: file) else { return [:] }
        var sections: [String: [String: String]] = [:]
        var current: String?
        for line in String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline) {
            // Indented lines belong to a setting that has others below it, none of which is of interest here.
            guard let first = line.first, !first.isWhitespace, first != "#", first != ";" else { continue }
            if first == "[" {
                current = line.dropFirst().prefix { $0 != "]" }.split(whereSeparator: \.isWhitespace).joined(
                    separator: " "
                )
            } else if let current, let equals = line.firstIndex(of: "=") {
                let name = line[..<equals].trimmingCharacters(in: .whitespaces).lowercased()
                sections[current, default: [:]][name] = line[line.index(after: equals)...]
                    .trimmingCharacters(in: .whitespaces)
            }
        }
        return sections
    }
}
