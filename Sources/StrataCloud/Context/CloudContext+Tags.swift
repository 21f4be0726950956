public import Foundation
import Strata

extension CloudContext {
    /// The value of a tag; nil if the subject does not have the tag.
    public func tag(_ name: String, of subject: String) throws -> Data? { try find(name, of: subject)?.value }

    /// Sets a tag, or removes it if the value is nil.
    public func setTag(_ name: String, of subject: String, to value: Data?) throws {
        let tag = try find(name, of: subject)
        switch (tag, value) {
        case (let tag?, let value?): tag.value = value
        case (nil, let value?): context.insert(CloudTag(account: account, subject: subject, name: name, value: value))
        case (let tag?, nil): context.delete(tag)
        case (nil, nil): break
        }
    }

    /// All tags of a subject, keyed by name. Names are compared by their UTF-8 bytes.
    public func tags(of subject: String) throws -> [UTF8Text: Data] {
        try Dictionary(uniqueKeysWithValues: all(subject).map { (UTF8Text($0.name), $0.value) })
    }

    /// Removes all tags of a subject.
    public func removeAllTags(of subject: String) throws { for tag in try all(subject) { context.delete(tag) } }

    private func find(_ name: String, of subject: String) throws -> CloudTag? {
        let account = account
        return try context.first(
            CloudTag.where { $0.account == account && $0.subject == subject && $0.name == name }
        )
    }

    private func all(_ subject: String) throws -> [CloudTag] {
        let account = account
        return try context.fetch(CloudTag.where { $0.account == account && $0.subject == subject })
    }
}
