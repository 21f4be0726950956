import StrataPipeline

/// The addresses of pages to which several pages link; nil if a name is too long for an address.
extension ConsoleRequest {
    // MARK: Queues

    /// The page about a pipeline.
    func address(ofPipeline name: String) -> String? { link(PipelinePage.pathText, ["pipeline": name]) }

    /// The page about an operation.
    func address(ofOperation id: Int64) -> String? { link("operation", ["id": "\(id)"]) }

    /// The list of a pipeline's queued operations.
    ///
    /// - Parameter status: the status of the operations; nil for all.
    func address(ofOperationsIn name: String, _ status: OperationStatus? = nil) -> String? {
        guard let status else { return link("operations", ["pipeline": name]) }
        return link("operations", ["pipeline": name, "state": status.description])
    }

    // MARK: The store

    /// The page about a commit.
    func address(ofCommit sequence: Int64) -> String? { link("commit", ["sequence": "\(sequence)"]) }

    /// The rows of a table.
    ///
    /// - Parameter id: the id after which the rows begin; nil for the first ones.
    func address(ofTable name: String, after id: Int64? = nil) -> String? {
        guard let id else { return link("table", ["table": name]) }
        return link("table", ["table": name, "after": "\(id)"])
    }

    /// The page about a row.
    func address(ofObject id: Int64, in table: String) -> String? { link("object", ["table": table, "id": "\(id)"]) }

    // MARK: Accounts

    /// The page about a node.
    ///
    /// - Parameter name: the name after which its children begin; nil for the first ones.
    func address(ofNode id: Int64, of account: String, after name: String? = nil) -> String? {
        guard let name else { return link("tree", ["account": account, "node": "\(id)"]) }
        return link("tree", ["account": account, "node": "\(id)", "after": name])
    }
}
