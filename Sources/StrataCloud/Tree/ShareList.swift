import Foundation
public import Strata

/// The permissions of other accounts for a node, by account id. Remotes that support share lists store and enforce the
/// list; other remotes ignore it.
public struct ShareList: Codable, Hashable, Sendable, AttributeValue {
    /// The permissions of one account.
    public struct Share: Codable, Hashable, Sendable {
        /// The permissions, as the letters that the remote knows: `r` read, `w` write, `s` share.
        public var permissions: Set<String>
        /// The node's key, wrapped for the account; nil if the content is not encrypted.
        public var key: String?

        /// Creates the permissions of one account.
        public init(permissions: Set<String> = ["r"], key: String? = nil) {
            self.permissions = permissions
            self.key = key
        }
    }

    /// The permissions by account id.
    public var shares: [String: Share]

    /// Whether both lists have the same stored value. Texts are compared by their UTF-8 bytes.
    public static func isSame(_ left: ShareList, _ right: ShareList) -> Bool {
        if left.shares.isEmpty || right.shares.isEmpty { return left.shares.isEmpty == right.shares.isEmpty }
        return left == right && Set(left.texts) == Set(right.texts)
    }

    private var texts: [UTF8Text] {
        shares.flatMap { account, share in
            [UTF8Text(account), UTF8Text(share.key ?? "")] + share.permissions.map(UTF8Text.init(_:))
        }
    }

    /// Creates a share list.
    public init(_ shares: [String: Share] = [:]) { self.shares = shares }
}

extension ShareList {
    /// The stored text of an empty list. Nearly all nodes have this text, so it is compared instead of decoded.
    static let emptyText = #"{"shares":{}}"#

    /// Creates a list from its stored JSON.
    public init?(storedValue: StoredValue) {
        guard case .text(let text) = storedValue else { return nil }
        if text == Self.emptyText {
            self.init()
        } else {
            guard let list = try? StoredJSON.decoder.decode(Self.self, from: Data(text.utf8)) else { return nil }
            self = list
        }
    }
}
