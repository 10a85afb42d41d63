// Reads {"cases": [[label, base64], ...]} and prints what a browser makes of each: [name, text] or null.
const { labelToName, legacyHookDecode } = await import(process.argv[2])
let text = ''
for await (const part of process.stdin) text += part
const answer = JSON.parse(text).cases.map(([label, body]) => {
  const name = labelToName(label)
  if (name === null) return null
  return [name, legacyHookDecode(new Uint8Array(Buffer.from(body, 'base64')), name)]
})
console.log(JSON.stringify(answer))
