import Foundation
public import Strata

/// Who may do what with a node, by account. Kept and enforced by remotes that know share lists; others ignore it.
public struct ShareList: Codable, Hashable, Sendable, AttributeValue {
    /// What one account may do.
    public struct Share: Codable, Hashable, Sendable {
        /// What it may do, by the letters that the remote knows: `r` read, `w` write, `s` share.
        public var permissions: Set<String>
        /// The node's key, wrapped for that account; nil where the content is not sealed.
        public var key: String?

        /// What one account may do.
        public init(permissions: Set<String> = ["r"], key: String? = nil) {
            self.permissions = permissions
            self.key = key
        }
    }

    /// By the id of the account.
    public var shares: [String: Share]

    /// Whether both lists store the same. Texts are compared by the bytes of their UTF-8.
    public static func isSame(_ left: ShareList, _ right: ShareList) -> Bool {
        if left.shares.isEmpty || right.shares.isEmpty { return left.shares.isEmpty == right.shares.isEmpty }
        return left == right && Set(left.texts) == Set(right.texts)
    }

    private var texts: [UTF8Text] {
        shares.flatMap { account, share in
            [UTF8Text(account), UTF8Text(share.key ?? "")] + share.permissions.map(UTF8Text.init(_:))
        }
    }

    /// A list.
    public init(_ shares: [String: Share] = [:]) { self.shares = shares }
}

extension ShareList {
    /// The text of a list in which nobody is, as nearly all nodes have it: it is known without being decoded.
    static let emptyText = #"{"shares":{}}"#

    /// A list by the JSON that is stored.
    public init?(storedValue: StoredValue) {
        guard case .text(let text) = storedValue else { return nil }
        if text == Self.emptyText {
            self.init()
        } else {
            guard let list = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else { return nil }
            self = list
        }
    }
}
