/* Calls `strata_test_home_begin` of the target TestHome when the program is loaded, so that no test has to. */
