package supervision_test

// unprovenNumbers: see unproven.
const unprovenNumbers = `
108
`
