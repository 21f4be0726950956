// Code that uses a tree also names remotes and the network, so one import is enough for all three. The files of this
// module see both modules by these imports too.
@_exported public import StrataReachability
@_exported public import StrataRemotes
