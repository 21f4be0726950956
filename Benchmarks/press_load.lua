-- Sends the requests of a file, and prints the figures as one line of JSON. press_peers.py runs it with wrk:
--
--   wrk -t THREADS -c CONNECTIONS -d SECONDS -s press_load.lua ADDRESS -- FILE THREADS
--
-- A line of the file is a request: a method, a path, a header field, its value, and a body, with tabs between them. Reads
-- are sent in turn. An edit (PUT) names the version of its article in If-Match, so it is sent again only after its answer,
-- with the version of the answer. Each "@" of its body becomes another number, so that every edit changes the article.

local threads = 0

function setup(thread)
   thread:set("number", threads)
   threads = threads + 1
end

local requests = {}
local position = 0
-- The edits that may be sent, from the first to the last, and the edits of all articles by their ids.
local ready = {}
local first = 1
local last = 0
local edits = {}
local count = 0

local function fields(line)
   local parts = {}
   for part in (line .. "\t"):gmatch("([^\t]*)\t") do
      parts[#parts + 1] = part
   end
   return parts
end

local function headers(parts)
   local result = {}
   if parts[3] ~= "" then
      result[parts[3]] = parts[4]
   end
   return result
end

local function append(edit)
   last = last + 1
   ready[last] = edit
end

-- The answer to an edit. wrk calls it as `response`, if `init` has set that.
local function answer(status, headers, body)
   local id = body:match('"id":"?([^",}]+)"?')
   local edit = id and edits[id]
   if status == 200 and edit then
      edit.tag = headers["ETag"]
      append(edit)
   end
end

function init(arguments)
   local index = 0
   for line in io.lines(arguments[1]) do
      -- Each thread has its own part of the articles.
      if index % tonumber(arguments[2]) == number then
         local parts = fields(line)
         if parts[1] == "PUT" then
            local edit = { path = parts[2], tag = parts[4], body = parts[5] }
            edits[parts[2]:match("[^/]+$")] = edit
            append(edit)
         else
            requests[#requests + 1] = wrk.format(parts[1], parts[2], headers(parts))
         end
      end
      index = index + 1
   end
   if last > 0 then
      response = answer
   end
end

function request()
   if #requests > 0 then
      position = position % #requests + 1
      return requests[position]
   end
   if first > last then
      -- The service has refused the edits, which press_peers.py reports.
      return wrk.format("GET", "/nowhere")
   end
   local edit = ready[first]
   ready[first] = nil
   first = first + 1
   count = count + 1
   local body = edit.body:gsub("@", tostring(number) .. "-" .. tostring(count))
   return wrk.format("PUT", edit.path, { ["If-Match"] = edit.tag, ["Content-Type"] = "application/json" }, body)
end

function done(summary, latency)
   local errors = summary.errors
   print(string.format(
      'FIGURES {"requests": %d, "seconds": %.6f, "median": %.6f, "p99": %.6f, "refused": %d, "failed": %d}',
      summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e6, latency:percentile(99) / 1e6,
      errors.status, errors.connect + errors.read + errors.write + errors.timeout
   ))
end
