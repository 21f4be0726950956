import StrataPipeline

/// The addresses of pages about queues, to which several pages link.
extension ConsoleRequest {
    /// The page about a pipeline; nil if its name is too long for an address.
    func address(ofPipeline name: String) -> String? { link(PipelinePage.pathText, ["name": name]) }

    /// The page about an operation.
    func address(ofOperation id: Int64) -> String? { link("operation", ["id": "\(id)"]) }

    /// The list of a pipeline's queued operations.
    ///
    /// - Parameter status: the status of the operations; nil for all.
    func address(ofOperationsIn name: String, _ status: OperationStatus? = nil) -> String? {
        guard let status else { return link("operations", ["pipeline": name]) }
        return link("operations", ["pipeline": name, "state": status.description])
    }

    /// The page about a commit.
    func address(ofCommit sequence: Int64) -> String? { link("commit", ["sequence": "\(sequence)"]) }
}
