/// The operations that synchronize accounts.
package enum AccountOperations {
    /// What happens if operations of an account are skipped or deleted, as sentences.
    package static let warning = """
        Some of these operations upload, move or delete files of an account. Without them, these changes never reach \
        the remote, and nothing reports this.
        """
}
