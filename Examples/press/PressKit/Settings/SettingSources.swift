import Foundation

/// Checks of the environment and of the file. The package swift-configuration ignores keys that the program does not
/// read, and some values of other types, so a mistake would have no effect.
enum SettingSources {
    /// - Throws: ``SettingsError`` for a variable that begins with `PRESS_` and is not a setting.
    static func check(environment: [String: String]) throws {
        let known = Set(SettingKey.allCases.map(\.variable))
        for name in environment.keys.sorted() where name.hasPrefix("PRESS_") {
            guard known.contains(name) else { throw SettingsError("The variable \(name) is not a setting.") }
        }
    }

    /// - Throws: ``SettingsError`` for a file that cannot be read or is not a JSON object, an unknown key, and a value of
    ///   the wrong type.
    static func check(file: String) throws {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw SettingsError("The file \(file) cannot be read.")
        }
        guard let value = try? JSONDecoder().decode(SettingValue.self, from: data), case .object(let values) = value
        else { throw SettingsError("The file \(file) is not a JSON object.") }
        try check(values, at: [])
    }

    private static func check(_ values: [String: SettingValue], at path: [String]) throws {
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            try check(value, at: path + [name])
        }
    }

    private static func check(_ value: SettingValue, at path: [String]) throws {
        let name = path.joined(separator: ".")
        let key = SettingKey.allCases.first { $0.path == path }
        guard key != .config else { throw SettingsError("config cannot be set in the file.") }
        switch (value, key) {
        case (.object(let values), nil):
            // An object must be the beginning of a setting, also if it is empty.
            guard SettingKey.allCases.contains(where: { $0.path.count > path.count && $0.path.starts(with: path) })
            else { throw SettingsError("\(name) is not a setting.") }
            try check(values, at: path)
        case (_, nil): throw SettingsError("\(name) is not a setting.")
        case (.number, let key?) where key.isNumber: break
        case (.text, let key?) where !key.isNumber: break
        case (_, let key?): throw SettingsError("\(name) must be \(key.isNumber ? "a whole number" : "a text").")
        }
    }
}

/// A value of the file.
private enum SettingValue: Decodable {
    case object([String: SettingValue])
    case text(String)
    /// A whole number.
    case number
    case other

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let values = try? container.decode([String: SettingValue].self) {
            self = .object(values)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if (try? container.decode(Bool.self)) == nil, (try? container.decode(Int.self)) != nil {
            self = .number
        } else {
            self = .other
        }
    }
}
