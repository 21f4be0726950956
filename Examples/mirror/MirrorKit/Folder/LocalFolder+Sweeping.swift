import Foundation

extension LocalFolder {
    /// Removes the half-written files of killed processes. Files that another program wrote at the moment of an
    /// exchange get a visible name. A replaced file goes to the trash.
    ///
    /// - Parameter exchanges: the exchanges that were pending when the process ended.
    /// - Returns: the paths of the files that got a visible name.
    func sweep(_ exchanges: [PendingExchange], _ conflictName: ConflictName) throws -> [LocalPath] {
        let known = Dictionary(exchanges.map { ($0.hidden, $0) }) { first, _ in first }
        var found: [LocalPath] = []
        for path in try hidden() {
            let other = try calling("remove", path) { () throws(SystemCode) -> LocalPath? in
                guard let (folder, name) = try parent(of: path), let status = try folder.status(name) else {
                    return nil
                }
                guard let exchange = known[name] else {
                    try folder.remove(name)
                    return nil
                }
                let place = LocalPath.join(path.folder, exchange.name)
                if exchange.isUnknown(status) { return place }
                if let trash, FileStamp(status).hasContent(of: exchange.known) {
                    _ = try trash.moveIn(folder, name, as: place, exchange.known)
                } else {
                    try folder.remove(name)
                }
                return nil
            }
            guard let other else { continue }
            let free = try freePath(other, conflictName)
            if try move(path, to: free) { found.append(free) }
        }
        return found
    }

    /// All files with a work name. Unreadable folders are left out.
    private func hidden() throws -> [LocalPath] {
        var hidden: [LocalPath] = []
        var waiting: [LocalPath?] = [nil]
        while let folder = waiting.popLast() {
            let open: OpenFolder
            let names: [String?]
            do throws(SystemCode) {
                open = try self.folder(folder)
                names = try open.names()
            } catch {
                guard folder == nil else { continue }
                throw FolderError("read", nil, error.number)
            }
            for case let name? in names {
                let path = LocalPath.join(folder, name)
                guard let status = try? open.status(name), folder != nil || name != Trash.nameInFolder else { continue }
                let item = FolderItem(path, status)
                if item.isFolder {
                    waiting.append(path)
                } else if !item.isSpecial, Self.isWork(name) {
                    hidden.append(path)
                }
            }
        }
        return hidden
    }
}
