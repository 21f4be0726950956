import Strata

extension CloudContext {
    /// The top folder of a trunk.
    ///
    /// - Throws: ``CloudError`` with `noSuchAccount` if the store does not have the trunk; the errors of the store.
    public func root(_ trunk: Trunk = .home) throws -> CloudNode {
        guard let id = info.trunks[trunk], let node = try context.find(id) else {
            throw CloudError(.noSuchAccount, "The account '\(account)' has no trunk '\(trunk.rawValue)' in this store.")
        }
        return node
    }

    /// The node at a path; nil if no node exists there.
    ///
    /// - Throws: ``CloudError`` with `invalidPath` for a literal that is not a path; the errors of the store.
    /// - Complexity: O(depth) look-ups.
    public func find(_ path: TreePath) throws -> CloudNode? {
        try path.check()
        var node = try root(path.trunk)
        for name in path.names {
            guard let child = try self.child(name, of: node) else { return nil }
            node = child
        }
        return node
    }

    /// The node at a path.
    ///
    /// - Throws: ``CloudError`` with `noSuchNode`, `invalidPath`; the errors of the store.
    public func node(at path: TreePath) throws -> CloudNode {
        guard let node = try find(path) else { throw CloudError(.noSuchNode, "No node exists at \(path).") }
        return node
    }

    /// The node with a name in a folder, by the account's rule for names; nil if no such node exists.
    public func child(_ name: String, of folder: CloudNode) throws -> CloudNode? {
        try child(name, of: folder.id)
    }

    private func child(_ name: String, of folder: ObjectID<CloudNode>) throws -> CloudNode? {
        let place = info.rule.normalized(name)
        return try context.first(CloudNode.where { $0.parent == folder && $0.place == place })
    }

    /// A free name in a folder: the requested name, or that name with a number before its extension.
    ///
    /// The candidates are `name 2.ext`, then `name 3.ext`, and so on.
    ///
    /// - Throws: ``CloudError`` with `invalidName`, with `pathOccupied` if 1,000 numbers are taken; the errors of the
    ///   store.
    /// - Complexity: one look-up for each taken name.
    public func freeName(for name: String, in folder: CloudNode) throws -> String {
        try freeName(for: name, in: folder.id, besides: [])
    }

    /// A free name in a folder, if places are also taken that the context does not show.
    ///
    /// The folder may be deleted here.
    ///
    /// - Parameters:
    ///   - taken: the places that are taken in addition.
    ///   - isForNow: whether a place also counts as taken if a queued operation fills or frees it.
    func freeName(
        for name: String,
        in folder: ObjectID<CloudNode>,
        besides taken: Set<UTF8Text>,
        isForNow: Bool = false
    ) throws -> String {
        func isFree(_ name: String) throws -> Bool {
            let place = info.rule.normalized(name)
            guard try !taken.contains(UTF8Text(place)) && child(name, of: folder) == nil else { return false }
            let resource = CloudResource.place(place, in: folder).text
            return try !isForNow || !context.exists(ResourceAccess.where { $0.resource == resource })
        }
        try check(name)
        if try isFree(name) { return name }
        let (stem, first, suffix) = Self.numbered(name)
        for number in first..<first + Self.mostNumbers {
            let candidate = "\(stem) \(number)\(suffix)"
            if try isFree(candidate) { return candidate }
        }
        throw CloudError(
            .pathOccupied,
            "No name is free for '\(name)': the numbers \(first) to \(first + Self.mostNumbers - 1) are taken. "
                + "Choose another name."
        )
    }

    /// The maximum number of numbered names that are tried.
    private static let mostNumbers = 1_000

    /// Splits a name into its stem without number and extension, the first number to try, and the extension.
    ///
    /// A number that may be a year belongs to the stem.
    private static func numbered(_ name: String) -> (stem: String, first: Int, suffix: String) {
        let (stem, suffix) = parts(of: name)
        let digits = stem.reversed().prefix { $0.isASCII && $0.isNumber }.count
        guard (1...3).contains(digits), let number = Int(stem.suffix(digits)), number > 1,
            stem.suffix(digits).first != "0",
            stem.dropLast(digits).last == " ", stem.count > digits + 1
        else { return (stem, 2, suffix) }
        return (String(stem.dropLast(digits + 1)), number + 1, suffix)
    }

    /// Splits a name into its stem and its extension. The extension begins with the dot.
    static func parts(of name: String) -> (stem: String, suffix: String) {
        // A leading dot marks a hidden file; it does not begin an extension.
        guard let (stem, rest) = name.splitAtLast("."), !stem.isEmpty else { return (name, "") }
        return (stem, "." + rest)
    }

    /// The step of a walk after it has visited a node.
    public enum WalkStep: Sendable {
        /// The walk continues, into the node if it is a folder.
        case proceed
        /// The walk skips the nodes below this node.
        case skip
        /// The walk ends.
        case stop
    }

    /// Calls `body` for every node below a node, each folder before its children, ordered by name.
    ///
    /// The node itself is not visited.
    ///
    /// - Parameters:
    ///   - node: the starting node.
    ///   - body: receives a node and the names on the path from the starting node to it.
    /// - Throws: the errors of `body`; the errors of the store.
    /// - Complexity: one query for each folder.
    public func walk(_ node: CloudNode, _ body: (CloudNode, _ names: [String]) throws -> WalkStep) throws {
        var waiting: [(CloudNode, [String])] = try node.children(below: node).reversed().map { ($0, [$0.name]) }
        while let (next, names) = waiting.popLast() {
            switch try body(next, names) {
            case .stop: return
            case .skip: continue
            case .proceed:
                guard next.isFolder else { continue }
                waiting += try next.children(below: node).reversed().map { ($0, names + [$0.name]) }
            }
        }
    }

    /// The maximum length of a name, in bytes of UTF-8.
    static let longestName = 1024

    func check(_ name: String) throws {
        guard !name.isEmpty, name.utf8.count <= Self.longestName else {
            throw CloudError(
                .invalidName,
                "A name has 1 to \(Self.longestName) bytes; '\(name.prefix(80))' has \(name.utf8.count)."
            )
        }
    }

    func check(_ node: CloudNode) throws {
        guard node.account.hasSameBytes(as: account), node.owningContext === context, !node.isDeleted else {
            throw CloudError(
                .foreignNode,
                "The node does not belong to the account '\(account)' in this context. Find it by its id in the "
                    + "context.",
                nodes: [node.id.rawValue]
            )
        }
    }
}
