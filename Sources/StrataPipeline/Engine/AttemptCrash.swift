/// What the tests of a program have an attempt end with as if its process had died: nothing that the handler has said is written, and the crash is
/// counted.
package struct AttemptCrash: Error {
    /// A crash.
    package init() {}
}
