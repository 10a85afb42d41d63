// Runs robots-parser's own tests and prints what was asked and answered: [[content, agent, url, allowed], ...].
const Module = require('module')
const path = require('path')
const folder = process.argv[2]
const real = require(path.join(folder, 'index.js'))
const recorded = []
const anything = new Proxy(function () {}, { get: () => anything, apply: () => anything })
const recording = (url, contents) => {
  const robots = real(url, contents)
  const isAllowed = (asked, agent) => {
    const answer = robots.isAllowed(asked, agent)
    if (typeof answer === 'boolean' && typeof contents === 'string') recorded.push([contents, agent || '*', new URL(asked, url).href, answer])
    return answer
  }
  return new Proxy(robots, { get: (target, name) => name === 'isAllowed' ? isAllowed : target[name] })
}
const load = Module._load
Module._load = (request, ...rest) =>
  request === 'chai' ? { expect: () => anything } : request === '../index' ? recording : load(request, ...rest)
global.describe = (name, body) => body()
global.it = (name, body) => { try { body() } catch { /* what is recorded until here counts */ } }
require(path.join(folder, 'test', 'Robots.js'))
console.log(JSON.stringify(recorded))
