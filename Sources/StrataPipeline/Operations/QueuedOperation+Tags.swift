public import Strata

extension QueuedOperation {
    /// The problem that is recorded for a tag without a text.
    private static let emptyTag = "has a tag that is the empty text. Give each tag a text"

    /// The tags of the operation, in the order of their bytes.
    ///
    /// - Throws: ``PipelineError`` with `invalidArgument` if the operation does not belong to a context; the store's
    ///   errors.
    /// - Complexity: O(tags of the operation), and one look-up.
    public func tags() throws -> [String] { try requireContext().tags(ofOperation: id.rawValue) }

    /// Adds tags to the operation, from the commit on. Tags that it already has stay.
    ///
    /// ```swift
    /// try operation.addTags(["import", "customer 17"])
    /// ```
    ///
    /// - Parameter tags: any texts except the empty one. Tags are compared by the bytes of their UTF-8.
    /// - Throws: ``PipelineError`` with `invalidArgument` for the empty text, after which nothing has changed; the
    ///   store's errors.
    /// - Complexity: O(tags).
    public func addTags(_ tags: [String]) throws {
        let context = try requireContext()
        guard tags.allSatisfy({ !$0.utf8.isEmpty }) else {
            throw PipelineError(
                .invalidArgument,
                "A tag of the operation is the empty text. Give each tag a text.",
                operations: [id.rawValue]
            )
        }
        let known = Set(try self.tags().map { UTF8Text($0) })
        context.insert(tags, of: id.rawValue, except: known)
    }

    /// Adds the tags of a new operation. A tag without a text is recorded as its problem.
    func addFirstTags(_ tags: [String], in context: ObjectContext) {
        if tags.contains(where: { $0.utf8.isEmpty }) {
            problem = Self.emptyTag
        } else if !id.isAssigned {
            problem = Self.withoutID
        } else {
            context.insert(tags, of: id.rawValue)
        }
    }

    /// Removes tags from the operation, from the commit on. Tags that it does not have are ignored.
    ///
    /// - Throws: ``PipelineError`` with `invalidArgument` if the operation does not belong to a context; the store's
    ///   errors.
    /// - Complexity: O(tags of the operation).
    public func removeTags(_ tags: [String]) throws {
        let (context, number) = (try requireContext(), id.rawValue)
        let unwanted = Set(tags.map { UTF8Text($0) })
        for tag in try context.fetch(OperationTag.where { $0.operation == number })
        where unwanted.contains(UTF8Text(tag.name)) {
            context.delete(tag)
        }
    }
}

extension FinishedOperation {
    /// The tags of the operation, in the order of their bytes. It kept them when it was finished.
    ///
    /// - Throws: ``PipelineError`` with `invalidArgument` if the object does not belong to a context; the store's
    ///   errors.
    /// - Complexity: O(tags of the operation), and one look-up.
    public func tags() throws -> [String] {
        guard let owningContext else {
            throw PipelineError(.invalidArgument, "The finished operation does not belong to a context. Fetch it.")
        }
        return try owningContext.tags(ofOperation: id.rawValue)
    }
}

extension ObjectContext {
    fileprivate func tags(ofOperation number: Int64) throws -> [String] {
        try fetch(OperationTag.where { $0.operation == number }.sorted { $0.name }).map(\.name)
    }

    /// Inserts tags of an operation, each once.
    fileprivate func insert(_ tags: [String], of operation: Int64, except known: Set<UTF8Text> = []) {
        var known = known
        for tag in tags where known.insert(UTF8Text(tag)).inserted {
            insert(OperationTag(name: tag, operation: operation))
        }
    }
}

// MARK: Queries

extension QueuedOperation.Columns {
    /// Whether the operation has a tag.
    ///
    /// ```swift
    /// QueuedOperation.where { $0.status == .failed && $0.hasTag("import") }
    /// ```
    ///
    /// - Complexity: an index finds the operations of a tag.
    public func hasTag(_ tag: String) -> Condition<QueuedOperation> {
        .sql("\(id) IN (SELECT t.operation FROM \(OperationTag.self) AS t WHERE t.name = \(tag))")
    }

    /// Whether the operation has at least one of several tags.
    public func hasAnyTag(of tags: [String]) -> Condition<QueuedOperation> {
        .sql("\(id) IN (SELECT t.operation FROM \(OperationTag.self) AS t WHERE t.name IN \(list: tags))")
    }
}

extension FinishedOperation.Columns {
    /// Whether the operation has a tag: see `hasTag(_:)` of queued operations.
    public func hasTag(_ tag: String) -> Condition<FinishedOperation> {
        .sql("\(id) IN (SELECT t.operation FROM \(OperationTag.self) AS t WHERE t.name = \(tag))")
    }

    /// Whether the operation has at least one of several tags.
    public func hasAnyTag(of tags: [String]) -> Condition<FinishedOperation> {
        .sql("\(id) IN (SELECT t.operation FROM \(OperationTag.self) AS t WHERE t.name IN \(list: tags))")
    }
}
